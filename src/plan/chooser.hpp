// What a trial of who packs tells: the present choice. PackTrial measures calls, ExchangeTrial
// measures exchanges.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dunnage::plan {

/// Who does a call. `streamed`: Dunnage, which may store past the caches.
enum class Packer : std::uint8_t { library, cached, streamed };
inline constexpr std::size_t packers = 3;
inline constexpr std::array<std::string_view, packers> packer_text = {"the MPI", "Dunnage",
                                                                      "Dunnage, stores past the caches"};
constexpr std::string_view text(Packer packer) { return packer_text[static_cast<std::size_t>(packer)]; }

/// Thread-safe.
class Chooser {
 public:
  /// After so many calls, or exchanges, in a row that have told nothing, a trial rests for so many
  /// calls.
  static constexpr int most_lost = 16, rest = 1024;

  Chooser(const Chooser&) = delete;
  Chooser& operator=(const Chooser&) = delete;

  /// Whether the MPI does the next call, unmeasured. The call then counts. Costs two loads and a
  /// store.
  bool leaves_to_library() { return choice() == Packer::library && pause(); }
  /// Who is the fastest as far as is known. Does not count as a call.
  Packer choice() const { return choice_.load(std::memory_order_relaxed); }
  /// Whether measurements have chosen.
  bool settled() const { return settled_.load(std::memory_order_relaxed); }

  // The two ranks of a message should do alike, so they tell each other what they have chosen:

  /// What a rank tells. A place of zeros tells nothing.
  enum class Told : std::uint32_t { nothing, library, ours };
  /// What the other rank of a message has chosen stands under the first of these names where
  /// something stands. Zeros: nobody tells.
  using Names = std::array<std::uint64_t, 2>;
  /// From now on what measurements have chosen stands in `place`, too; null: it stands nowhere. No
  /// other thread may use this object meanwhile.
  void tell_in(std::atomic<std::uint32_t>* place, const Names& other_rank) {
    place_ = place;
    other_rank_ = other_rank;
  }
  const Names& other_rank() const { return other_rank_; }
  /// Whether the MPI was chosen although Dunnage is nearly as fast. Such a rank does what the other
  /// one has chosen, and asks for it for `most_asked` messages.
  bool asks() const { return asks_.load(std::memory_order_relaxed) > 0; }
  static constexpr int most_asked = 16;
  /// It is the turn of `own` to do a message, which is not measured, and whose other rank has told
  /// `other`. `own` is Dunnage, or this trial asks(). Returns who does the message. If so many
  /// messages in a row are the MPI's because of the other rank, the MPI is chosen here, too.
  Packer agree(Packer own, Told other);
  static constexpr int most_left = 64;

  /// What is known so far, for the report.
  struct Found {
    Packer choice;
    bool settled;                             // the trial is over
    std::array<double, packers> nanoseconds;  // what a candidate usually takes; 0 where nothing is known
  };

 protected:
  explicit Chooser(Packer choice) : choice_(choice) {}
  ~Chooser() = default;

  /// A choice was made. `clearly`: Dunnage would be slower, if it is not chosen. `calls`: so many
  /// come before the next measurement.
  void choose(Packer packer, bool clearly, std::int32_t calls);
  /// Measurements begin again.
  void forget_choice(Packer packer);

  /// Counts a call. Returns whether it is not measured, whoever does it.
  bool pause() {
    const auto left = left_.load(std::memory_order_relaxed);
    if (left <= 0) return false;
    left_.store(left - 1, std::memory_order_relaxed);  // two threads may count one call
    return true;
  }

  std::atomic<Packer> choice_;
  std::atomic<bool> settled_{false};
  std::atomic<std::int32_t> left_{0};  // calls before the next measurement

 private:
  void tell(Told what) {
    if (place_) place_->store(static_cast<std::uint32_t>(what), std::memory_order_relaxed);
  }

  std::atomic<std::uint32_t>* place_ = nullptr;
  Names other_rank_{};
  std::atomic<int> asks_{0};        // messages that still ask
  std::atomic<int> left_by_it_{0};  // messages in a row that the other rank has left to the MPI
  std::atomic<std::int32_t> pause_{0};
};

}  // namespace dunnage::plan
