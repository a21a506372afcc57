#include "tune/known.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace bench::tune {

namespace {

constexpr double quartile = 0.25, outside = 0.05;  // the share of wrong intervals on either side

}  // namespace

Interval quartile_interval(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const auto count = samples.size();
  const auto n = static_cast<double>(count);
  // The number of samples below the quartile has a binomial distribution. A sample is a bound if
  // chance seldom puts so few, or so many, below the quartile.
  std::size_t low = 0, high = count - 1;
  double probability = std::pow(1 - quartile, n), below = 0;  // of exactly k samples; of fewer than k
  for (std::size_t k = 0; k < count; ++k) {
    if (below + probability <= outside) low = k;
    if (1 - below <= outside) {
      high = std::max(k, std::size_t{1}) - 1;
      break;
    }
    below += probability;
    probability *= (n - static_cast<double>(k)) / static_cast<double>(k + 1) * quartile / (1 - quartile);
  }
  return {samples[low], samples[std::max(low, high)]};
}

bool known(const AllSeries& series, double margin) {
  std::vector<Interval> found;
  for (const auto* one : series) found.push_back(quartile_interval(*one));
  const auto within = [&](double factor) {
    return std::all_of(found.begin(), found.end(), [&](const Interval& one) { return one.within(factor); });
  };
  if (within(margin)) return true;
  if (found.size() != 2 || !within(margin * margin)) return false;
  return margin * found[0].high < found[1].low || margin * found[1].high < found[0].low;
}

bool needs_round(const Rounds& rounds, int done, bool known_before, const AllSeries& series, double margin) {
  if (done < rounds.fewest) return true;
  if (known_before) return done < rounds.again;
  if (done < rounds.enough) return true;
  return done < rounds.most && !known(series, margin);
}

std::vector<bool> named_places(const char* text, std::size_t count) {
  std::vector<bool> places(count);
  const char* const end = text + std::strlen(text);
  const auto number = [&](std::size_t& value) {
    const auto [stop, error] = std::from_chars(text, end, value);
    if (error != std::errc()) throw std::invalid_argument("places have the form 0-3,7");
    text = stop;
  };
  while (text != end) {
    std::size_t first = 0;
    number(first);
    std::size_t last = first;
    if (*text == '-') ++text, number(last);
    for (std::size_t i = first; i <= last && i < count; ++i) places[i] = true;
    if (*text != ',' && text != end) throw std::invalid_argument("places have the form 0-3,7");
    if (*text == ',') ++text;
  }
  return places;
}

}  // namespace bench::tune
