// Finds out who packs, or unpacks, data of one kind fastest: the MPI, or Dunnage with one kind of
// stores or the other. It does so in calls that the program makes anyway: packing calls, or
// messages.
//
// In the first calls the candidates take turns, and each call is measured. Then the fastest one
// does all calls. From time to time each candidate does one call again, so that a program that
// behaves otherwise later gets another choice.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

#include "plan/chooser.hpp"

namespace dunnage::plan {

/// How a trial judges what it measures.
struct TrialRules {
  /// How often each candidate is measured before the choice. The median counts. At most 9.
  int samples;
  /// Another candidate than the favourite must be faster by this factor. Two equal candidates can
  /// differ by that much.
  double least_gain;
  /// The favourite: the MPI, or else what was predicted.
  bool favours_library;
  /// What Dunnage costs before and after its packing, in nanoseconds. The measured time does not
  /// contain it.
  double own_call;
  /// A candidate leaves the trial if it takes so many times longer than the fastest one after so
  /// many calls. It comes back with a new trial, or if the fastest one was fast by chance.
  struct Hopeless {
    int calls;
    double factor;
  };
  std::array<Hopeless, 2> hopeless;
  /// A candidate waits until the choice is made if, after so many calls, each of them has taken
  /// longer than this factor times the slowest call of another one.
  struct Behind {
    int calls;
    double factor;
  };
  Behind behind;
  /// A new trial begins if the chosen candidate's time differs from what it was by this factor,
  /// twice.
  double otherwise;
  /// Whether the number of a call says whose turn it is. The other side of a message tries
  /// candidates too, and both must try one at a time.
  bool by_number;
};
/// Of packing calls, and of calls that send or receive.
extern const TrialRules packing_rules, message_rules;

/// Thread-safe.
class PackTrial : public Chooser {
 public:
  /// Later measurements may lengthen the calls by this part.
  static constexpr double most_loss = 0.005;
  /// After Dunnage has been chosen for messages, so many are looked at. If `most_mixed` in a row
  /// take `mixed` times the MPI's median, the other side has chosen the MPI, and so does this one.
  /// If a sender packs and its receiver does not unpack, a message can take six times as long as by
  /// either candidate.
  static constexpr int looks = 4, most_mixed = 3;
  static constexpr double mixed = 1.25;
  /// The number of calls between two later measurements is at least this.
  static constexpr int least_pause = 64;

  /// `predicted` does the first call, unless the number of a call says whose turn it is.
  /// `may_stream`: whether `streamed` is a candidate, of packing calls only.
  PackTrial(Packer predicted, bool may_stream, const TrialRules& rules = packing_rules);

  struct Turn {
    Packer packer;
    bool measured;  // took() must follow
    std::uint8_t trial;
    std::uint32_t number = 0;  // of a message that is measured after the trial
  };
  /// Who does the next call. `number`: of a message, among those of its two ranks. Both sides say
  /// one number.
  Turn next(std::uint32_t number = 0);
  /// The other rank of a message has told what it has chosen. Returns the turn as it shall be.
  /// Until the other rank has chosen, the number of a message still says whose turn it is.
  Turn agree(Turn turn, Told other);
  using Chooser::agree;
  /// Tells how long the work of a measured call took.
  void took(Turn turn, double nanoseconds);
  /// Tells that a measured call has told nothing. After many such calls the trial rests.
  void lost(Turn turn);

  /// What is known so far, for the report.
  Found found() const;

 private:
  static constexpr std::size_t most_samples = 9;
  struct Candidate {
    Packer packer;
    std::array<double, most_samples> times{};  // the latest ones
    int taken = 0;
    bool out = false;
    bool behind = false;  // tried no more before the choice, but again later
    bool began = false;   // its only time is that of the trial's first call
  };

  static bool librarys(std::uint32_t number);
  Turn next_by_number(std::uint32_t number);
  void look(Turn turn, double time);
  void begin_round();
  bool enough() const;
  double median(const Candidate& candidate) const;
  double least(const Candidate& candidate) const;
  double greatest(const Candidate& candidate) const;
  bool has_turns(const Candidate& candidate) const { return !candidate.out && (settled_ || !candidate.behind); }
  bool readmit();
  void settle();
  void begin_again();
  Candidate* find(Packer packer);

  const TrialRules rules_;
  const Packer favourite_;
  mutable std::mutex mutex_;           // guards everything below
  std::vector<Candidate> candidates_;  // the predicted one first
  std::vector<Packer> turns_;          // of this round, the next one last
  int looks_ = 0;                      // calls that are still to be looked at
  int mixed_ = 0;                      // in a row, that took too long
  std::int32_t pause_ = 0;             // after the looks
  int round_ = 0;
  int lost_ = 0;    // calls in a row that have told nothing
  int others_ = 0;  // rounds in which the chosen candidate's time was another
  std::uint8_t trial_ = 0;
};

}  // namespace dunnage::plan
