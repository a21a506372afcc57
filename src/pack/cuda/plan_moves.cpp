// Launches that move several messages from layout to layout.
#include <algorithm>

#include "pack/cuda/fused_plan.hpp"
#include "pack/cuda/launch.hpp"

namespace dunnage::pack::cuda {
namespace {

// From so many bytes on, a message with narrow words or a transpose has a faster way than a fused
// launch, which moves it word by word.
constexpr std::int64_t slow_in_words = 64 << 10;
constexpr std::uint8_t narrow = 4;

/// A range of the packed stream that one part of each side contains.
struct Overlap {
  const Part *from, *to;
  std::uintptr_t from_user, to_user;  // the addresses of the parts' first bytes
  std::int64_t from_begin, to_begin;  // where the range begins in each part
  std::int64_t bytes;

  std::uint8_t word() const {
    const auto word_of = [&](const Part& part, std::uintptr_t user, std::int64_t begin) {
      return largest_word(part.geometry, user | static_cast<std::uintptr_t>(begin | bytes));
    };
    return std::min(word_of(*from, from_user, from_begin), word_of(*to, to_user, to_begin));
  }
};

/// Calls f(overlap) for each range. Ends, and returns false, as soon as f returns false.
template <class F>
bool each_overlap(const MoveJob& job, F&& f) {
  auto a = job.from_recipe->parts().begin(), b = job.to_recipe->parts().begin();
  for (std::int64_t at = 0; at < job.size;) {
    const auto end = std::min({a->begin + a->size, b->begin + b->size, job.size});
    const Overlap overlap{&*a,
                          &*b,
                          job.from + static_cast<std::uintptr_t>(a->offset),
                          job.to + static_cast<std::uintptr_t>(b->offset),
                          at - a->begin,
                          at - b->begin,
                          end - at};
    if (!f(overlap)) return false;
    at = end;
    if (at == a->begin + a->size) ++a;
    if (at == b->begin + b->size) ++b;
  }
  return true;
}

}  // namespace

bool fuses(const MoveJob& job) {
  return each_overlap(job, [](const Overlap& overlap) {
    // The parts must be nests before their words can be asked for.
    if (!overlap.from->nest || !overlap.to->nest) return false;
    const auto word = overlap.word();
    if (!fits_fused(*overlap.from, word) || !fits_fused(*overlap.to, word)) return false;
    if (overlap.bytes < slow_in_words) return true;
    return word >= narrow && transposed_level(overlap.from->geometry) == 0 &&
           transposed_level(overlap.to->geometry) == 0;
  });
}

std::vector<Launch> plan_moves(std::span<const MoveJob> jobs, bool few_blocks) {
  // Measured between two H200 (scripts/gpu/thread_words.cu). Within one GPU 2^18 would be better.
  constexpr std::uint64_t most_single = 1 << 19;
  std::vector<Overlap> overlaps;
  for (const auto& job : jobs)
    each_overlap(job, [&](const Overlap& overlap) {
      overlaps.push_back(overlap);
      return true;
    });
  std::stable_sort(overlaps.begin(), overlaps.end(),
                   [](const Overlap& a, const Overlap& b) { return a.bytes > b.bytes; });
  std::vector<Launch> launches;
  for (std::size_t i = 0; i < overlaps.size(); i += max_fused) {
    const auto count = std::min<std::size_t>(max_fused, overlaps.size() - i);
    launches.push_back(
        fused_launch<CompletingMoves>({KernelId::Family::move}, few_blocks ? 0 : most_single,
                                      std::span<const Overlap>(overlaps).subspan(i, count), [](const Overlap& o) {
                                        const auto word = o.word();
                                        return FusedMove{static_cast<std::uint32_t>(o.bytes / word), word,
                                                         fused_nest(*o.from, o.from_user, o.from_begin, word),
                                                         fused_nest(*o.to, o.to_user, o.to_begin, word)};
                                      }));
  }
  return launches;
}

}  // namespace dunnage::pack::cuda
