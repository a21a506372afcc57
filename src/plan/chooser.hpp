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

  /// What is known so far, for the report.
  struct Found {
    Packer choice;
    bool settled;                             // the trial is over
    std::array<double, packers> nanoseconds;  // medians; 0 where there is none
  };

 protected:
  explicit Chooser(Packer choice) : choice_(choice) {}
  ~Chooser() = default;

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
};

}  // namespace dunnage::plan
