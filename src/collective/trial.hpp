// Who does the operations of one size on one communicator, found out by doing some each way. Every rank goes through the same turns without a word, since it counts
// the same operations; one of them looks at what all have measured and says the verdict with an operation's data, so that all hear it before the next one.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

namespace dunnage::collective {

class Trial {
 public:
  enum class Turn : std::uint8_t { theirs, measured_theirs, ours, measured_ours };
  enum class Verdict : std::uint8_t { none, ours, theirs };
  /// Operations of a kind that are measured, after some that are not: these may have to make what the others find. Theirs come first, then ours.
  static constexpr int measured = 3, theirs = 1 + measured;
  /// Of ours so many are not measured, once that is said before the first operation; else one.
  void warm_up(int ours) {
    if (calls_ == 0) warm_ups_ = ours;
  }
  /// How many times faster ours must be to be kept, and by how many seconds: the shortest of three differ by that much where nothing else does.
  static constexpr float least_gain = 1.05f, least_saved = 0.5e-6f;

  /// Whose the next operation is.
  Turn next() {
    if (verdict_ == Verdict::theirs) return Turn::theirs;
    if (over()) return Turn::ours;
    const int i = calls_++;
    if (i < theirs) return i == 0 ? Turn::theirs : Turn::measured_theirs;
    return i < theirs + warm_ups_ ? Turn::ours : Turn::measured_ours;
  }
  /// What the operation took whose turn was a measured one. The shortest counts: in the others a rank may have come late.
  void took(Turn turn, float seconds) {
    auto& shortest = turn == Turn::measured_theirs ? their_time_ : our_time_;
    shortest = std::min(shortest, seconds);
  }
  /// Whether one who has an operation's data should judge.
  bool undecided() const { return verdict_ == Verdict::none && over(); }
  void decide(Verdict verdict) {
    if (verdict_ == Verdict::none) verdict_ = verdict;
  }
  Verdict verdict() const { return verdict_; }

  /// What this rank has measured, in one word for the others; 0 before all of it is there.
  std::uint64_t note() const { return !over() ? 0 : Times{their_time_, our_time_}.note(); }
  /// Seconds; of several ranks, of the slowest, since an operation takes as long as it takes that one.
  struct Times {
    float theirs = 0, ours = 0;
    Verdict verdict() const { return ours * least_gain + least_saved <= theirs ? Verdict::ours : Verdict::theirs; }
    std::uint64_t note() const { return std::uint64_t{std::bit_cast<std::uint32_t>(theirs)} << 32 | std::bit_cast<std::uint32_t>(ours); }
  };
  /// Collects the notes of all ranks.
  class Judge {
   public:
    void hear(std::uint64_t note) {
      complete_ = complete_ && note != 0;
      slowest_.theirs = std::max(slowest_.theirs, std::bit_cast<float>(static_cast<std::uint32_t>(note >> 32)));
      slowest_.ours = std::max(slowest_.ours, std::bit_cast<float>(static_cast<std::uint32_t>(note)));
    }
    Verdict verdict() const { return complete_ ? slowest_.verdict() : Verdict::none; }
    /// All that it has heard in one note, for another judge.
    std::uint64_t note() const { return complete_ ? slowest_.note() : 0; }

   private:
    bool complete_ = true;
    Times slowest_;
  };

 private:
  bool over() const { return calls_ >= theirs + warm_ups_ + measured; }
  int calls_ = 0, warm_ups_ = 1;
  Verdict verdict_ = Verdict::none;
  // A rank that could not measure says that it took for ever.
  float their_time_ = std::numeric_limits<float>::max(), our_time_ = std::numeric_limits<float>::max();
};

}  // namespace dunnage::collective
