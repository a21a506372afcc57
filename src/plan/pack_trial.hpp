// Finds out who packs, or unpacks, data of one kind fastest: the MPI, or Dunnage with one kind of
// stores or the other. It does so in calls that the program makes anyway.
//
// In the first calls the candidates take turns, and each call is measured. Then the fastest one
// does all calls. From time to time each candidate does one call again, so that a program that
// behaves otherwise later gets another choice.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

namespace dunnage::plan {

/// Who does a call. `streamed`: Dunnage, which may store past the caches.
enum class Packer : std::uint8_t { library, cached, streamed };
inline constexpr std::size_t packers = 3;
inline constexpr std::array<std::string_view, packers> packer_text = {"the MPI", "Dunnage",
                                                                      "Dunnage, stores past the caches"};
constexpr std::string_view text(Packer packer) { return packer_text[static_cast<std::size_t>(packer)]; }

/// Thread-safe.
class PackTrial {
 public:
  /// How often each candidate is measured before the choice. The median counts.
  static constexpr int samples = 5;
  /// Dunnage does the calls only if it is faster by this factor. Two equal candidates can differ by
  /// that much.
  static constexpr double least_gain = 1.03;
  /// What Dunnage costs before and after its packing, in nanoseconds. The measured time does not
  /// contain it.
  static constexpr double own_call = 30;
  /// Later measurements may lengthen the calls by this part.
  static constexpr double most_loss = 0.005;
  /// The number of calls between two later measurements is at least this.
  static constexpr int least_pause = 64;
  /// A candidate leaves the trial if it takes so many times longer than the fastest one. It comes
  /// back with a new trial.
  static constexpr double hopeless = 2, hopeless_at_first = 8;
  /// A new trial begins if the chosen candidate's time differs from what it was by this factor,
  /// twice.
  static constexpr double otherwise = 2;

  /// `predicted` does the first call. `may_stream`: whether `streamed` is a candidate.
  PackTrial(Packer predicted, bool may_stream);

  struct Turn {
    Packer packer;
    bool measured;  // took() must follow
    std::uint8_t trial;
  };
  /// Whether the MPI does the next call, unmeasured. The call then counts. Costs two loads and a
  /// store.
  bool leaves_to_library() { return choice_.load(std::memory_order_relaxed) == Packer::library && pause(); }
  /// Who does the next call.
  Turn next();
  /// Tells how long the work of a measured call took.
  void took(Turn turn, double nanoseconds);

  /// What is known so far, for the report.
  struct Found {
    Packer choice;
    bool settled;                             // the trial is over
    std::array<double, packers> nanoseconds;  // medians; 0 where there is none
  };
  Found found() const;

 private:
  struct Candidate {
    Packer packer;
    std::array<double, samples> times{};  // the latest ones
    int taken = 0;
    bool out = false;
    double median() const;
    double least() const;
  };

  bool pause() {
    const auto left = left_.load(std::memory_order_relaxed);
    if (left <= 0) return false;
    left_.store(left - 1, std::memory_order_relaxed);  // two threads may count one call
    return true;
  }
  void begin_round();
  bool enough() const;
  void settle();
  void begin_again();
  Candidate* find(Packer packer);

  std::atomic<Packer> choice_;
  std::atomic<std::int32_t> left_{0};  // calls before the next measurement
  mutable std::mutex mutex_;           // guards everything below
  std::vector<Candidate> candidates_;  // the predicted one first
  std::vector<Packer> turns_;          // of this round, the next one last
  int round_ = 0;
  int others_ = 0;  // rounds in which the chosen candidate's time was another
  std::uint8_t trial_ = 0;
  bool settled_ = false;
};

}  // namespace dunnage::plan
