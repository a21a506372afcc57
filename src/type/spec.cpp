#include "type/spec.hpp"

#include <algorithm>
#include <numeric>

namespace dunnage::type {
namespace {

void require(bool ok, const char* what) {
  if (!ok) throw SpecError(what);
}

std::shared_ptr<Spec> derived(Combiner combiner, std::vector<SpecPtr> types) {
  auto spec = std::make_shared<Spec>();
  spec->combiner = combiner;
  spec->types = std::move(types);
  for (const auto& t : spec->types) {
    require(t != nullptr, "a member type is missing");
    spec->alignment = std::max(spec->alignment, t->alignment);
  }
  return spec;
}

/// The lower and upper bound of a typemap under construction (MPI 4.1, section 5.1.7).
class Bounds {
 public:
  /// Adds `count` copies of `old`, one extent apart, from displacement `at` on.
  void add(std::int64_t at, std::int64_t count, const Spec& old) {
    if (count == 0) return;
    const auto last = plus(at, times(count - 1, old.extent));
    include(plus(at, old.lb), plus(at, plus(old.lb, old.extent)));
    include(plus(last, old.lb), plus(last, plus(old.lb, old.extent)));
  }
  void store(Spec& spec) const {
    spec.lb = empty_ ? 0 : low_;
    spec.extent = empty_ ? 0 : minus(high_, low_);
  }

 private:
  void include(std::int64_t low, std::int64_t high) {
    low_ = empty_ ? low : std::min(low_, low);
    high_ = empty_ ? high : std::max(high_, high);
    empty_ = false;
  }
  bool empty_ = true;
  std::int64_t low_ = 0, high_ = 0;
};

SpecPtr strided(Combiner combiner, std::int64_t count, std::int64_t blocklength, std::int64_t stride,
                std::int64_t stride_bytes, SpecPtr old) {
  require(count >= 0 && blocklength >= 0, "a count or blocklength is negative");
  auto spec = derived(combiner, {old});
  spec->integers = {count, blocklength};
  if (combiner == Combiner::vector)
    spec->integers.push_back(stride);
  else
    spec->addresses = {stride};
  spec->size = times(times(count, blocklength), old->size);
  Bounds bounds;
  if (count > 0) {
    bounds.add(0, blocklength, *old);
    bounds.add(times(count - 1, stride_bytes), blocklength, *old);
  }
  bounds.store(*spec);
  return spec;
}

SpecPtr listed(Combiner combiner, Ints blocklengths, Ints displacements, std::int64_t unit, SpecPtr old) {
  const bool uniform = combiner == Combiner::indexed_block || combiner == Combiner::hindexed_block;
  require(uniform || blocklengths.size() == displacements.size(),
          "there must be as many blocklengths as displacements");
  auto spec = derived(combiner, {old});
  Bounds bounds;
  for (std::size_t i = 0; i < displacements.size(); ++i) {
    const auto length = blocklengths[uniform ? 0 : i];
    require(length >= 0, "a blocklength is negative");
    spec->size = plus(spec->size, times(length, old->size));
    bounds.add(times(displacements[i], unit), length, *old);
  }
  bounds.store(*spec);
  spec->integers = std::move(blocklengths);
  spec->addresses = std::move(displacements);
  return spec;
}

}  // namespace

std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t r;
  require(!__builtin_mul_overflow(a, b, &r), "the type's size or displacements do not fit 63 bits");
  return r;
}

std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t r;
  require(!__builtin_add_overflow(a, b, &r), "the type's size or displacements do not fit 63 bits");
  return r;
}

std::int64_t minus(std::int64_t a, std::int64_t b) {
  std::int64_t r;
  require(!__builtin_sub_overflow(a, b, &r), "the type's size or displacements do not fit 63 bits");
  return r;
}

SpecPtr named(std::string name, std::vector<Member> members, std::int64_t extent, std::int64_t alignment) {
  auto spec = std::make_shared<Spec>();
  spec->name = std::move(name);
  spec->members = std::move(members);
  for (const auto& m : spec->members) spec->size += m.size;
  spec->extent = extent;
  spec->alignment = alignment;
  return spec;
}

SpecPtr basic(std::string name, std::int64_t size) {
  // The C alignment of every basic type in use is the largest power of two that divides its size,
  // up to 16.
  const auto alignment = size == 0 ? 1 : std::min<std::int64_t>(size & -size, 16);
  if (size == 0) return named(std::move(name), {}, 0, 1);
  return named(std::move(name), {{0, size}}, size, alignment);
}

SpecPtr dup(SpecPtr old) {
  auto spec = derived(Combiner::dup, {old});
  spec->size = old->size;
  spec->lb = old->lb;
  spec->extent = old->extent;
  return spec;
}

SpecPtr contiguous(std::int64_t count, SpecPtr old) {
  require(count >= 0, "a count is negative");
  auto spec = derived(Combiner::contiguous, {old});
  spec->integers = {count};
  spec->size = times(count, old->size);
  Bounds bounds;
  bounds.add(0, count, *old);
  bounds.store(*spec);
  return spec;
}

SpecPtr vector(std::int64_t count, std::int64_t blocklength, std::int64_t stride, SpecPtr old) {
  const auto bytes = times(stride, old->extent);
  return strided(Combiner::vector, count, blocklength, stride, bytes, std::move(old));
}

SpecPtr hvector(std::int64_t count, std::int64_t blocklength, std::int64_t stride, SpecPtr old) {
  return strided(Combiner::hvector, count, blocklength, stride, stride, std::move(old));
}

SpecPtr indexed(Ints blocklengths, Ints displacements, SpecPtr old) {
  const auto unit = old->extent;
  return listed(Combiner::indexed, std::move(blocklengths), std::move(displacements), unit, std::move(old));
}

SpecPtr hindexed(Ints blocklengths, Ints displacements, SpecPtr old) {
  return listed(Combiner::hindexed, std::move(blocklengths), std::move(displacements), 1, std::move(old));
}

SpecPtr indexed_block(std::int64_t blocklength, Ints displacements, SpecPtr old) {
  const auto unit = old->extent;
  return listed(Combiner::indexed_block, {blocklength}, std::move(displacements), unit, std::move(old));
}

SpecPtr hindexed_block(std::int64_t blocklength, Ints displacements, SpecPtr old) {
  return listed(Combiner::hindexed_block, {blocklength}, std::move(displacements), 1, std::move(old));
}

SpecPtr structure(Ints blocklengths, Ints displacements, std::vector<SpecPtr> types) {
  require(blocklengths.size() == displacements.size() && types.size() == displacements.size(),
          "a struct needs as many blocklengths and types as displacements");
  auto spec = derived(Combiner::structure, std::move(types));
  Bounds bounds;
  for (std::size_t i = 0; i < displacements.size(); ++i) {
    require(blocklengths[i] >= 0, "a blocklength is negative");
    spec->size = plus(spec->size, times(blocklengths[i], spec->types[i]->size));
    bounds.add(displacements[i], blocklengths[i], *spec->types[i]);
  }
  bounds.store(*spec);
  // The standard leaves the padding open. As most MPIs do, round the extent up to the alignment.
  if (const auto over = spec->extent % spec->alignment; over != 0)
    spec->extent = plus(spec->extent, spec->alignment - over);
  spec->integers = std::move(blocklengths);
  spec->addresses = std::move(displacements);
  return spec;
}

SpecPtr subarray(const Ints& sizes, const Ints& subsizes, const Ints& starts, Order order, SpecPtr old) {
  require(!sizes.empty() && sizes.size() == subsizes.size() && sizes.size() == starts.size(),
          "a subarray needs as many sizes, subsizes and starts, and at least one");
  auto spec = derived(Combiner::subarray, {old});
  spec->order = order;
  spec->size = old->size;
  spec->extent = old->extent;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    require(subsizes[i] >= 0 && starts[i] >= 0 && starts[i] <= sizes[i] - subsizes[i],
            "a subarray's subsize and start do not lie within its size");
    Dimension d;
    d.size = sizes[i];
    d.subsize = subsizes[i];
    d.start = starts[i];
    spec->dimensions.push_back(d);
    spec->size = times(spec->size, subsizes[i]);
    spec->extent = times(spec->extent, sizes[i]);
  }
  return spec;
}

SpecPtr darray(std::int64_t size, std::int64_t rank, const Ints& gsizes, const std::vector<Distribution>& distributions,
               const Ints& arguments, const Ints& processes, Order order, SpecPtr old) {
  const auto n = gsizes.size();
  require(n > 0 && distributions.size() == n && arguments.size() == n && processes.size() == n,
          "a darray needs as many global sizes, distributions, arguments and grid sizes, and at least one");
  auto spec = derived(Combiner::darray, {old});
  spec->integers = {size, rank};
  spec->order = order;
  spec->size = old->size;
  spec->extent = old->extent;
  std::int64_t grid = 1;
  for (std::size_t i = 0; i < n; ++i) {
    require(gsizes[i] > 0 && processes[i] > 0, "a darray's global and grid sizes must be positive");
    Dimension d;
    d.size = gsizes[i];
    d.distribution = distributions[i];
    d.argument = arguments[i];
    d.processes = processes[i];
    spec->dimensions.push_back(d);
    spec->extent = times(spec->extent, gsizes[i]);
    grid = times(grid, processes[i]);
  }
  require(grid == size && rank >= 0 && rank < size, "a darray's grid does not match its size and rank");
  const auto coordinates = grid_coordinates(*spec);
  for (std::size_t i = 0; i < n; ++i)
    spec->size = times(spec->size, share_of(spec->dimensions[i], coordinates[i]).elements());
  return spec;
}

SpecPtr resized(std::int64_t lb, std::int64_t extent, SpecPtr old) {
  auto spec = derived(Combiner::resized, {old});
  spec->addresses = {lb, extent};
  spec->size = old->size;
  spec->lb = lb;
  spec->extent = extent;
  return spec;
}

Share share_of(const Dimension& d, std::int64_t coordinate) {
  const auto argument = d.argument;
  if (d.distribution == Distribution::none) return {0, d.size, d.size, 1, 0};
  if (d.distribution == Distribution::block) {
    const auto length = argument == default_distribution_argument ? (d.size + d.processes - 1) / d.processes : argument;
    require(length > 0 && times(length, d.processes) >= d.size, "a darray's block does not cover its dimension");
    const auto start = coordinate * length;
    const auto here = std::clamp<std::int64_t>(d.size - start, 0, length);
    return {start, here, here, here > 0 ? 1 : 0, 0};
  }
  const auto length = argument == default_distribution_argument ? 1 : argument;
  require(length > 0, "a darray's cyclic argument must be positive");
  const auto step = times(length, d.processes), start = coordinate * length;
  const auto left = std::max<std::int64_t>(d.size - start, 0);
  return {start, length, step, left / step + (left % step >= length ? 1 : 0), left % step >= length ? 0 : left % step};
}

Ints grid_coordinates(const Spec& darray) {
  auto size = darray.integers[0], rank = darray.integers[1];
  Ints coordinates;
  for (const auto& d : darray.dimensions) {
    size /= d.processes;
    coordinates.push_back(rank / size);
    rank %= size;
  }
  return coordinates;
}

std::vector<std::size_t> fastest_first(const Spec& array) {
  std::vector<std::size_t> index(array.dimensions.size());
  std::iota(index.begin(), index.end(), std::size_t{0});
  if (array.order == Order::c) std::reverse(index.begin(), index.end());
  return index;
}

}  // namespace dunnage::type
