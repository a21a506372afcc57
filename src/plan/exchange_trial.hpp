// Finds out who packs nonblocking messages fastest, the MPI or Dunnage, in exchanges that the
// program makes anyway (plan/exchange_timer.hpp).
//
// Both sides of a message must try one candidate at a time. If a sender packs and its receiver
// leaves the unpacking to the MPI, the message can take longer than with either candidate. The
// ranks of a host have one clock, so they agree without a message: time is cut into slices, and
// each slice has a candidate. Of two slices each candidate has one, in an order that looks random,
// because programs have periods. The length of a slice follows from the size of the data. What
// begins early in a slice does not count, because the other side may have begun before the slice.
//
// If two candidates are close, ranks may still choose differently, and a mixture can take six times
// as long as either candidate. So a rank that has chosen Dunnage looks at its next exchanges. Later
// it tries once more, and leaves its messages to the MPI if the gain has gone. It does not do so if
// its gain was clear, and the other rank tells that it has chosen Dunnage, too.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <span>
#include <string_view>

#include "plan/chooser.hpp"

namespace dunnage::plan {

/// Stands before the name of a call in the report, if exchanges were measured.
inline constexpr std::string_view nonblocking = "nonblocking ";

/// Of messages of one kind of data. Thread-safe.
class ExchangeTrial : public Chooser {
 public:
  /// So many messages come before the trial, because the first ones pay for what later ones do not.
  static constexpr int first_messages = 8;
  /// How often each candidate is measured. The second shortest time is its usual one. In a
  /// candidate's first exchanges the kernel provides pages of memory, and those take longer.
  static constexpr int samples = 5;
  /// It ends earlier if each of so many exchanges of the MPI took that many times as long as all of
  /// Dunnage's. If its usual one did, the gain is clear.
  static constexpr int clear_samples = 3;
  static constexpr double clear_gain = 1.25;
  /// Dunnage must be faster by this factor. Measuring takes time itself, and more of the MPI's
  /// exchanges than of ours, whose requests Dunnage knows anyway.
  static constexpr double least_gain = 1.1;
  /// If it is slower by less than this factor, the choice is the other rank's, where that is known.
  static constexpr double least_loss = 1.03;
  /// So many messages lie between the two trials.
  static constexpr int between_trials = 64;
  /// After Dunnage has been chosen, so many exchanges of its slices are looked at. If `most_mixed`
  /// in a row take `mixed` times the MPI's median, they are mixtures, and the MPI has them again.
  /// The slices are followed meanwhile, because the other side may still be trying.
  static constexpr int looks = 8, most_mixed = 3;
  static constexpr double mixed = 1.25;
  /// Dunnage loses early if all its first exchanges are slower, those included that do not count.
  /// Each must take `clear_loss` times as long as every one of `clear_samples` exchanges of the
  /// MPI, or `hopeless` times as long as the MPI's usual exchange.
  static constexpr double clear_loss = 1.03, hopeless = 2;
  static constexpr int enough_to_lose = 4;
  /// After so many exchanges, if one candidate has too few that count, slices become longer by
  /// that factor, and after `most_lengths` lengths the trial is over.
  static constexpr int most_exchanges = 64, longer = 8, most_lengths = 4;
  /// So many messages later an exchange is measured again. If its time is another by that factor,
  /// twice, the trial begins again.
  static constexpr int least_pause = 1024;
  static constexpr double otherwise = 4;

  /// `first`: does the first exchanges; it is Dunnage if much is predicted to be gained. `bytes`:
  /// of a message, about. Both sides must say one number.
  ExchangeTrial(Packer first, std::int64_t bytes);

  /// Who packs the messages of an exchange.
  struct Turn {
    Packer packer;
    bool measured;  // took() or lost() must follow
    std::uint8_t trial;
    std::int64_t begin;  // nanoseconds
  };
  /// Whose turn a message is that begins now. `now`: nanoseconds of the host's clock.
  Turn next(std::int64_t now);
  /// Tells how long the calls of a measured exchange took, which ends now.
  void took(const Turn& turn, std::int64_t now, double nanoseconds);
  /// Tells that a measured exchange has told nothing.
  void lost(const Turn& turn);
  /// Whether Dunnage has won once, clearly, and must win again unless hear() tells that the other
  /// rank of such messages has chosen it, too.
  bool hopes() const { return hopes_.load(std::memory_order_relaxed); }
  void hear(Told other);
  /// Another trial has found something in exchanges that had messages of this one, too. Unless this
  /// one has found something itself, it takes that choice, and measures no more.
  void follow(const Found& other);
  Found found() const;

 private:
  enum class Phase : std::uint8_t { trying, trying_again, settled };
  struct Candidate {
    std::array<double, samples> times{};  // the latest ones
    int taken = 0;
    void add(double time) { times[static_cast<std::size_t>(taken++ % samples)] = time; }
    std::span<const double> all() const { return {times.data(), static_cast<std::size_t>(std::min(taken, samples))}; }
    /// The second shortest time. 0 if there is none.
    double usual() const { return ranked(1); }
    double median() const { return ranked(std::min(taken, samples) / 2); }
    /// The time of that rank, the shortest has 0.
    double ranked(int rank) const;
    bool enough() const { return taken >= samples; }
  };
  Candidate& of(Packer packer) { return packer == Packer::library ? library_ : ours_; }
  Packer packer_at(std::int64_t now) const;
  /// Whether an exchange surely began in one slice on all sides.
  bool began_together(std::int64_t begin) const;
  /// Whether an exchange from `begin` to `end` was surely packed by one candidate on all sides.
  bool counts(std::int64_t begin, std::int64_t end) const;
  void take_try(const Turn& turn, std::int64_t now, double time);
  void take_look(const Turn& turn, double time);
  void pause_before_trial();
  void begin_slices(std::int64_t length);
  void begin_phase(Phase phase);
  bool clearly_gains() const;
  bool clearly_loses() const;
  void conclude();
  void settle(Packer packer, bool clearly);
  void begin_again();

  const Packer first_;
  std::atomic<bool> hopes_{false};
  mutable std::mutex mutex_;  // guards everything below
  Phase phase_ = Phase::trying;
  std::uint8_t trial_ = 0;
  bool follows_ = false;
  int exchanges_ = 0;               // of this phase
  int lost_ = 0;                    // in a row
  int others_ = 0;                  // in a row, whose time was another
  const std::int64_t first_slice_;  // nanoseconds
  std::int64_t slice_;              // of this phase
  int lengths_ = 1;                 // of slices, that were tried in this phase
  Candidate library_, ours_;
  Candidate library_then_, ours_then_;  // when Dunnage won, while it hopes()
  int ours_begun_ = 0;                  // exchanges of ours in this phase
  double least_of_ours_ = 0;            // nanoseconds
  int looks_ = 0;                       // exchanges that are still to be looked at
  int mixed_ = 0;                       // in a row, that took too long
};

}  // namespace dunnage::plan
