#include "bcast/measure.hpp"

#include <algorithm>
#include <cmath>

#include "bcast/buffers.hpp"
#include "bcast/functions.hpp"

namespace bench {
namespace {

struct World {
  int rank, ranks;
  World() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  }
};

double slowest(double mine) {
  double all = 0;
  past().Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

class Series {
 public:
  Series(const NamedWay& way, const Case& c, const Plan& plan, const Start& start, Buffers& buffers)
      : way_(way), case_(c), plan_(plan), start_(start), buffers_(buffers) {}

  /// Does one broadcast with values that no broadcast before has had, so that no leftover can pass
  /// for them. Returns whether the bytes are right.
  bool right() {
    const Traffic before = traffic();
    bool all = true;
    const int roots = case_.all_roots ? std::min(world_.ranks, 8) : 1;
    for (int i = 0; i < roots; ++i) {
      const auto root = static_cast<int>(std::int64_t{i} * world_.ranks / roots);
      const auto salt = ++salt_;
      auto* data = buffers_.next();
      fill(data, case_.bytes, world_.rank == root ? salt : salt + 1000);
      way_.way->run(data, case_.bytes, root);
      all &= way_.name == "copy" || holds(data, case_.bytes, salt);
      past().Barrier(MPI_COMM_WORLD);
    }
    const Traffic after = traffic();
    const long long mine[] = {after.sends - before.sends, after.bytes - before.bytes};
    long long sum[2] = {};
    past().Reduce(mine, sum, 2, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    found_.messages = sum[0] / roots;
    found_.bytes_received = sum[1] / roots;
    int here = all, everywhere = 0;
    past().Allreduce(&here, &everywhere, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return everywhere != 0;
  }

  void begin() {
    way_.way->prepare(case_.bytes);
    found_.right = right();
    for (int i = 0; i < 4; ++i) one();  // also lets a library do what it does at its first calls
    past().Barrier(MPI_COMM_WORLD);
    const double before = now();
    for (int i = 0; i < 2; ++i) one();
    const double each = slowest(now() - before) / 2;
    turns_ = std::clamp(static_cast<int>(plan_.seconds / (2 * plan_.rounds * std::max(each, 1e-7))), 1, plan_.most);
  }

  void round() {
    std::vector<double> mine, all(static_cast<std::size_t>(turns_));
    for (int i = 0; i < turns_; ++i) {
      bool late = false;
      const double from = start_.together(late);
      one();
      mine.push_back(late ? INFINITY : now() - from);
    }
    past().Reduce(mine.data(), all.data(), turns_, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    for (const double t : all)
      if (world_.rank == 0) std::isinf(t) ? static_cast<void>(++found_.late) : found_.synchronised.push_back(t);
    past().Barrier(MPI_COMM_WORLD);
    const double before = now();
    for (int i = 0; i < turns_; ++i) one();
    found_.loop.push_back(slowest(now() - before) / turns_);
  }

  Measured done() {
    found_.right &= right();
    return std::move(found_);
  }

 private:
  struct Traffic {
    long long sends = 0, bytes = 0;
  };
  Traffic traffic() const {
    const auto* t = way_.way->traffic();
    return t ? Traffic{t->sends, t->bytes_received} : Traffic{};
  }
  void one() { way_.way->run(buffers_.next(), case_.bytes, case_.all_roots ? turn_++ % world_.ranks : 0); }

  const NamedWay& way_;
  const Case& case_;
  const Plan& plan_;
  const Start& start_;
  const World world_;
  Buffers& buffers_;
  Measured found_;
  int turns_ = 1, turn_ = 0;
  static inline unsigned salt_ = 0;
};

}  // namespace

std::vector<Measured> measure(const std::vector<NamedWay>& ways, const Case& c, const Plan& plan, const Start& start) {
  Plan each = plan;
  each.seconds = plan.seconds / static_cast<double>(ways.size());
  Buffers buffers(c.bytes, c.rotated ? static_cast<int>(std::clamp<std::int64_t>(plan.rotated / c.bytes, 2, 64)) : 1);
  std::vector<Series> series;
  series.reserve(ways.size());
  for (const auto& way : ways) series.emplace_back(way, c, each, start, buffers).begin();
  for (int i = 0; i < plan.rounds; ++i)
    // In each round another series comes first.
    for (std::size_t k = 0; k < series.size(); ++k) series[(static_cast<std::size_t>(i) + k) % series.size()].round();
  std::vector<Measured> found;
  for (auto& one : series) found.push_back(one.done());
  return found;
}

}  // namespace bench
