// MPI_Pack and MPI_Unpack of a vector, past Dunnage and through it, on rank 0.
#include <mpi.h>

#include "base/cache.hpp"
#include "common/past.hpp"
#include "tune/case.hpp"
#include "tune/vector.hpp"

namespace bench::tune {

namespace {

enum class Direction { pack, unpack };

class Pack : public Case {
 public:
  Pack(const Memory& memory, int rank, long bytes, long block, Direction direction, bool cold)
      : memory_(memory),
        rank_(rank),
        bytes_(bytes),
        block_(block),
        direction_(direction),
        cold_(cold),
        type_(bytes, block) {}

  void sample(int turn) final {
    if (rank_ != 0) return;
    for (int k = 0; k < 2; ++k) {
      const bool preloaded = (turn + k) % 2 == 0;
      const int times = cold_ ? 1 : batch(bytes_);
      if (cold_) {
        const bool packs = direction_ == Direction::pack;
        memory_.evict(packs ? memory_.from : memory_.to, 2 * static_cast<std::size_t>(bytes_));
        memory_.evict(memory_.packed, static_cast<std::size_t>(bytes_));
        memory_.evictor.finish();
      } else {
        run(preloaded);
      }
      const auto start = Clock::now();
      for (int i = 0; i < times; ++i) run(preloaded);
      (preloaded ? dunnage_ : plain_).push_back(since(start) / times);
    }
  }

  bool right() final {
    bool right = true;
    if (rank_ == 0) {
      type_.fill(memory_.from, 1);
      type_.fill(memory_.packed, 2);
      type_.poison(direction_ == Direction::pack ? memory_.packed : memory_.to);
      run(true);
      right = direction_ == Direction::pack ? type_.packed_right(memory_.from, memory_.packed, false)
                                            : type_.packed_right(memory_.packed, memory_.to, true);
    }
    return agreed(right, 0);
  }

  AllSeries series() const final { return {&plain_, &dunnage_}; }

  nlohmann::json record() const final {
    nlohmann::json record = {
        {"record", "result"}, {"kind", "pack"},  {"direction", direction_ == Direction::pack ? "pack" : "unpack"},
        {"bytes", bytes_},    {"block", block_}, {"far", cold_}};
    record["series"] = {{"plain", to_json(plain_)}, {"dunnage", to_json(dunnage_)}};
    return record;
  }

 private:
  void run(bool preloaded) const {
    static const auto pack = BENCH_PAST(MPI_Pack);
    static const auto unpack = BENCH_PAST(MPI_Unpack);
    const int size = static_cast<int>(bytes_);
    int position = 0;
    if (direction_ == Direction::pack)
      (preloaded ? MPI_Pack : pack)(memory_.from.data(), 1, type_.get(), memory_.packed.data(), size, &position,
                                    MPI_COMM_WORLD);
    else
      (preloaded ? MPI_Unpack : unpack)(memory_.packed.data(), size, &position, memory_.to.data(), 1, type_.get(),
                                        MPI_COMM_WORLD);
  }

  const Memory& memory_;
  const int rank_;
  const long bytes_, block_;
  const Direction direction_;
  const bool cold_;
  const Vector type_;
  std::vector<double> plain_, dunnage_;
};

}  // namespace

void add_packs(Cases& cases, const Memory& memory, int rank, long most) {
  // Payloads are clearly near or clearly far. If near, packed and strided data together fit well
  // into the second-level cache. If far, they exceed it by much, and Dunnage stores past the
  // caches.
  const long cache = dunnage::base::second_level_cache();
  for (const long bytes : {1L << 10, 8L << 10, 64L << 10, most})
    for (const long block : blocks)
      for (const auto direction : {Direction::pack, Direction::unpack}) {
        const bool near = 6 * bytes <= cache, far = bytes >= 2 * cache;
        if (2 * block <= bytes && (near || far))
          cases.push_back(std::make_unique<Pack>(memory, rank, bytes, block, direction, far));
      }
}

}  // namespace bench::tune
