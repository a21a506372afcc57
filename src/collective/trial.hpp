// Finds out who does the operations of one size on one communicator, the MPI or Dunnage, by doing
// some operations each way.
//
// Every rank takes the same turns without communication, because every rank counts the same
// operations. One rank compares the measurements of all ranks. It sends its verdict with an
// operation's data, so that all ranks know the verdict before the next operation.
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
  /// The number of operations that are measured each way. The MPI's operations come first. Some
  /// operations before the measured ones are not measured, because they may set up what later
  /// operations reuse.
  static constexpr int measured = 3, theirs = 1 + measured;
  /// Sets how many of our operations are not measured. Takes effect only before the first
  /// operation. The default is one.
  void warm_up(int ours) {
    if (calls_ == 0) warm_ups_ = ours;
  }
  /// How many times faster our operations must be to be kept, and how many seconds must be saved.
  /// The shortest of three equal operations can differ by that much.
  static constexpr float least_gain = 1.05f, least_saved = 0.5e-6f;

  /// Returns whose the next operation is.
  Turn next() {
    if (verdict_ == Verdict::theirs) return Turn::theirs;
    if (over()) return Turn::ours;
    const int i = calls_++;
    if (i < theirs) return i == 0 ? Turn::theirs : Turn::measured_theirs;
    return i < theirs + warm_ups_ ? Turn::ours : Turn::measured_ours;
  }
  /// Tells how long an operation of a measured turn took. The shortest time counts, because in the
  /// others a rank may have come late.
  void took(Turn turn, float seconds) {
    auto& shortest = turn == Turn::measured_theirs ? their_time_ : our_time_;
    shortest = std::min(shortest, seconds);
  }
  /// Returns whether a rank that has an operation's data should judge now.
  bool undecided() const { return verdict_ == Verdict::none && over(); }
  void decide(Verdict verdict) {
    if (verdict_ == Verdict::none) verdict_ = verdict;
  }
  Verdict verdict() const { return verdict_; }

  /// Returns this rank's measurements in one word for the other ranks, or 0 if they are not
  /// complete.
  std::uint64_t note() const { return !over() ? 0 : Times{their_time_, our_time_}.note(); }
  /// Times in seconds. For several ranks, the times of the slowest rank, because an operation takes
  /// as long as its slowest rank does.
  struct Times {
    float theirs = 0, ours = 0;
    Verdict verdict() const { return ours * least_gain + least_saved <= theirs ? Verdict::ours : Verdict::theirs; }
    std::uint64_t note() const {
      return std::uint64_t{std::bit_cast<std::uint32_t>(theirs)} << 32 | std::bit_cast<std::uint32_t>(ours);
    }
  };
  /// Collects the notes of all ranks and gives the verdict.
  class Judge {
   public:
    void hear(std::uint64_t note) {
      complete_ = complete_ && note != 0;
      slowest_.theirs = std::max(slowest_.theirs, std::bit_cast<float>(static_cast<std::uint32_t>(note >> 32)));
      slowest_.ours = std::max(slowest_.ours, std::bit_cast<float>(static_cast<std::uint32_t>(note)));
    }
    Verdict verdict() const { return complete_ ? slowest_.verdict() : Verdict::none; }
    /// Returns one note that stands for all notes so far, for another judge.
    std::uint64_t note() const { return complete_ ? slowest_.note() : 0; }

   private:
    bool complete_ = true;
    Times slowest_;
  };

 private:
  bool over() const { return calls_ >= theirs + warm_ups_ + measured; }
  int calls_ = 0, warm_ups_ = 1;
  Verdict verdict_ = Verdict::none;
  // A rank that could not measure reports the longest possible time.
  float their_time_ = std::numeric_limits<float>::max(), our_time_ = std::numeric_limits<float>::max();
};

}  // namespace dunnage::collective
