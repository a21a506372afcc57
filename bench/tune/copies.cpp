// The bandwidth of this core's copies. It shows what the core is worth, and whether its speed
// stayed the same during the measurement.
#include <cstring>

#include "tune/case.hpp"

namespace bench::tune {

namespace {

class Copy : public Case {
 public:
  Copy(const Memory& memory, int rank, long bytes, bool cold)
      : memory_(memory), rank_(rank), bytes_(bytes), cold_(cold) {}

  void sample(int) final {
    if (rank_ != 0) return;
    const auto size = static_cast<std::size_t>(bytes_);
    const int times = cold_ ? 1 : batch(bytes_);
    if (cold_) {
      memory_.evict(memory_.from, size);
      memory_.evict(memory_.to, size);
      memory_.evictor.finish();
    } else {
      copy(size);
    }
    const auto start = Clock::now();
    for (int i = 0; i < times; ++i) copy(size);
    seconds_.push_back(since(start) / times);
  }

  bool right() final { return true; }

  AllSeries series() const final { return {&seconds_}; }

  nlohmann::json record() const final {
    return {{"record", "result"},
            {"kind", "copy"},
            {"bytes", bytes_},
            {"far", cold_},
            {"series", {{"plain", to_json(seconds_)}}}};
  }

 private:
  void copy(std::size_t size) const {
    std::memcpy(memory_.to.data(), memory_.from.data(), size);
    asm volatile("" : : "r"(memory_.to.data()) : "memory");
  }

  const Memory& memory_;
  const int rank_;
  const long bytes_;
  const bool cold_;
  std::vector<double> seconds_;
};

}  // namespace

void add_copies(Cases& cases, const Memory& memory, int rank) {
  for (const long bytes : {4L << 10, 32L << 10}) cases.push_back(std::make_unique<Copy>(memory, rank, bytes, false));
  cases.push_back(std::make_unique<Copy>(memory, rank, 4L << 20, true));
}

}  // namespace bench::tune
