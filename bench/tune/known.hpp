// When a time is known well enough, so that its case needs no more rounds.
// python/dunnage/tune/known.py judges the samples of all launches by this rule.
#pragma once

#include <cstddef>
#include <vector>

namespace bench::tune {

/// An interval of times.
struct Interval {
  double low, high;
  /// Returns whether its ends are at most this factor apart.
  bool within(double factor) const { return high <= factor * low; }
};

/// Returns an interval that has the lower quartile of the distribution with a confidence of 90 %,
/// whatever the distribution is. Its ends are two of the samples, of which there is at least one.
/// With fewer than 11 samples, the lower end is the least sample, and the confidence is lower.
Interval quartile_interval(std::vector<double> samples);

using AllSeries = std::vector<const std::vector<double>*>;

/// Returns whether the lower quartiles of all series of one case are known to the factor `margin`.
/// If the intervals of two series are that far apart, twice the uncertainty will do: who is faster
/// is then known. No series may be empty.
bool known(const AllSeries& series, double margin);

/// How many rounds a case gets.
struct Rounds {
  int fewest = 3;  // in every launch, even if the time is up
  int again = 5;   // if it was known before this launch; shows whether the launches differ
  int enough = 9;  // before this many, nothing is known
  int most = 500;
};

/// Returns whether a case that had `done` rounds in this launch needs another one, time permitting.
bool needs_round(const Rounds& rounds, int done, bool known_before, const AllSeries& series, double margin);

/// Returns which of `count` places a text names, for example "0-3,7". Throws std::invalid_argument
/// if the text has another form. Places past the end are passed over.
std::vector<bool> named_places(const char* text, std::size_t count);

}  // namespace bench::tune
