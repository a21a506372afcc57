// Finds out who does the collectives of one kind, the MPI or Dunnage, where the ranks ask each
// other at calls 1, 2, 4, 8 and so on.
//
// Every rank counts alike, so all ranks take one turn without communication. Between two questions
// some calls are done by the one that is not chosen, and some calls of both are timed. The ranks
// tell each other these times with the next question, so no message is added. The candidate that is
// not chosen is left out if it cannot be faster, or was far from it.
//
// Calls of one kind may have other layouts later, and ranks do not know the layouts of others. So
// the MPI is chosen only if its longest call was shorter than Dunnage's shortest one. While the MPI
// does the calls, all of them are timed, and the ranks ask each other more often.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>

namespace dunnage::collective {

/// Not thread-safe.
class AskedTrial {
 public:
  enum Who : std::uint8_t { theirs, ours };
  struct Turn {
    bool asked;     // the ranks ask each other before this call
    Who who;        // whose the call is, if they do not
    bool measured;  // took() is to be told the time
  };
  /// What ranks tell each other. Of each number, the greatest of all ranks counts.
  struct Note {
    int ours, theirs;  // ns: Dunnage's shortest call, and the MPI's longest one
    int least;         // ns that the MPI needs at least
    int refuses;       // 1: this rank wants no trials now
  };
  static constexpr int unknown = std::numeric_limits<int>::max();
  /// Of the candidate that is not chosen so many calls are made after a question. The first of them
  /// is not timed.
  static constexpr unsigned tried = 3;
  /// A program with fewer calls has no trials, which could cost it more than they save.
  static constexpr unsigned first_trial = 32;
  static constexpr unsigned measured = 3;  // calls of Dunnage, if it is chosen
  /// While the MPI is chosen, the ranks ask each other after so many calls.
  static constexpr unsigned often = 16;
  /// From this call on calls are timed. Before, ranks find out whose memory they read.
  static constexpr unsigned first_measured = 5;
  /// The MPI is chosen if it is faster by so much.
  static constexpr float least_gain = 1.1f, least_saved = 1000;  // ns
  /// A candidate that takes so many times as long is not tried again.
  static constexpr float far_away = 2;

  /// Of the next call. `waits`: it waits for all ranks and returns when it is done. Other calls are
  /// not used for trials.
  Turn next(bool waits) {
    const auto call = ++calls_;
    if (std::has_single_bit(call) || (possible_ && chosen_ == theirs && call % often == 0)) {
      since_ = 0;
      return {true, chosen(), false};
    }
    if (!possible_ || !waits || call < first_measured) return {false, chosen(), false};
    const auto place = ++since_;
    const auto others = trying_ ? tried : 0;
    if (place <= others) return {false, other(), place > 1};
    return {false, chosen(), chosen_ == theirs || place <= others + measured};
  }
  void took(Who who, float seconds) {
    const auto time = nanoseconds(seconds);
    auto& known = times_[who];
    if (known == unknown)
      known = time;
    else
      known = who == ours ? std::min(known, time) : std::max(known, time);
  }
  /// What this rank tells with a question.
  Note note(float least_seconds, bool refuses) const {
    return {times_[ours], times_[theirs], nanoseconds(least_seconds), refuses};
  }
  /// `possible`: the calls may be Dunnage's. `slowest`: of all ranks.
  void learn(bool possible, const Note& slowest) {
    // Where a rank refuses trials, the times may be of calls of other sizes.
    if (possible != possible_ || slowest.refuses) forget();
    possible_ = possible;
    if (slowest.refuses) return;
    if (slowest.ours != unknown) latest_[ours] = slowest.ours;
    if (slowest.theirs != unknown) latest_[theirs] = slowest.theirs;
    times_ = {unknown, unknown};
    if (compared())
      chosen_ = latest_[theirs] * least_gain + least_saved < static_cast<float>(latest_[ours]) ? theirs : ours;
    trying_ = possible && calls_ >= first_trial && worth_trying(slowest.least);
  }
  /// Whose calls are that wait for nobody.
  Who chosen() const { return possible_ ? chosen_ : theirs; }
  /// Whether both have been timed.
  bool compared() const { return latest_[ours] != unknown && latest_[theirs] != unknown; }
  /// The latest time in ns, of the slowest rank.
  int latest(Who who) const { return latest_[who]; }

 private:
  static int nanoseconds(float seconds) {
    constexpr float longest = 2e9f;
    return static_cast<int>(std::clamp(seconds * 1e9f, 0.0f, longest));
  }
  Who other() const { return chosen_ == ours ? theirs : ours; }
  bool worth_trying(int least) const {
    const auto now = static_cast<float>(latest_[chosen_]);
    if (latest_[chosen_] == unknown) return false;
    const auto rival = latest_[other()];
    return rival == unknown ? far_away * static_cast<float>(least) < now : static_cast<float>(rival) < far_away * now;
  }
  void forget() {
    trying_ = false;
    chosen_ = ours;
    latest_ = {unknown, unknown};
    times_ = {unknown, unknown};
  }

  unsigned calls_ = 0, since_ = 0;  // since_: calls after a question that are used
  bool possible_ = false, trying_ = false;
  Who chosen_ = ours;
  std::array<int, 2> times_{unknown, unknown};  // since the last question
  std::array<int, 2> latest_{unknown, unknown};
};

}  // namespace dunnage::collective
