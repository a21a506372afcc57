// Reads a datatype's constructor back from the MPI.
#include "mpi/process/types.hpp"

#include <map>

namespace dunnage::mpi {
namespace {

using type::Spec;
using type::SpecPtr;

struct Contents {
  int combiner = MPI_COMBINER_NAMED;
  type::Ints integers, addresses;
  type::Ints large;  // counts and displacements of a type made by a large-count constructor
  std::vector<MPI_Datatype> types;
};

void require(int rc) {
  if (rc != MPI_SUCCESS) throw type::SpecError("the MPI does not tell the datatype's constructor");
}

bool has_large_counts() { return process->own.Type_get_envelope_c && process->own.Type_get_contents_c; }

struct Constructor {
  int combiner = MPI_COMBINER_NAMED;
  bool large = false;  // with large counts
};

/// That of a predefined type if the MPI does not tell.
Constructor constructor_of(MPI_Datatype type) {
  Constructor made;
  if (has_large_counts()) {
    MPI_Count integers, addresses, large = 0, types;
    process->own.Type_get_envelope_c(type, &integers, &addresses, &large, &types, &made.combiner);
    made.large = large > 0;
  } else {
    int integers, addresses, types;
    process->own.Type_get_envelope(type, &integers, &addresses, &types, &made.combiner);
  }
  return made;
}

Contents contents_of(MPI_Datatype type) {
  const auto& own = process->own;
  Contents c;
  // A type made by a large-count constructor tells its counts only here.
  MPI_Count ni = 0, na = 0, nl = 0, nt = 0;
  if (has_large_counts()) {
    require(own.Type_get_envelope_c(type, &ni, &na, &nl, &nt, &c.combiner));
    if (c.combiner == MPI_COMBINER_NAMED) return c;
  }
  if (nl > 0) {
    std::vector<int> integers(static_cast<std::size_t>(ni));
    std::vector<MPI_Aint> addresses(static_cast<std::size_t>(na));
    std::vector<MPI_Count> large(static_cast<std::size_t>(nl));
    c.types.resize(static_cast<std::size_t>(nt));
    require(
        own.Type_get_contents_c(type, ni, na, nl, nt, integers.data(), addresses.data(), large.data(), c.types.data()));
    c.integers.assign(integers.begin(), integers.end());
    c.large.assign(large.begin(), large.end());
    return c;
  }
  int integers_n, addresses_n, types_n;
  require(own.Type_get_envelope(type, &integers_n, &addresses_n, &types_n, &c.combiner));
  if (c.combiner == MPI_COMBINER_NAMED) return c;
  std::vector<int> integers(static_cast<std::size_t>(integers_n));
  std::vector<MPI_Aint> addresses(static_cast<std::size_t>(addresses_n));
  c.types.resize(static_cast<std::size_t>(types_n));
  require(
      own.Type_get_contents(type, integers_n, addresses_n, types_n, integers.data(), addresses.data(), c.types.data()));
  c.integers.assign(integers.begin(), integers.end());
  c.addresses.assign(addresses.begin(), addresses.end());
  return c;
}

/// The values of a large-count type's contents in the order of the small one's: integers, then
/// addresses. MPI 4.1, section 5.1.13: what was a count becomes large too, and `order`, `rank` and
/// the like stay ints.
void sort_large(Contents& c) {
  const auto large = std::move(c.large), small = std::move(c.integers);
  c.integers.clear();
  const auto take = [&](std::size_t from, std::size_t n, type::Ints& to) {
    if (from + n > large.size()) throw type::SpecError("the MPI's large-count contents are not as the standard says");
    to.insert(to.end(), large.begin() + static_cast<std::ptrdiff_t>(from),
              large.begin() + static_cast<std::ptrdiff_t>(from + n));
  };
  switch (c.combiner) {
    case MPI_COMBINER_HVECTOR:  // count, blocklength, stride
      take(0, 2, c.integers);
      take(2, 1, c.addresses);
      return;
    case MPI_COMBINER_HINDEXED:  // count, blocklengths, displacements
    case MPI_COMBINER_STRUCT: {
      const auto n = static_cast<std::size_t>(large.at(0));
      take(0, 1 + n, c.integers);
      take(1 + n, n, c.addresses);
      return;
    }
    case MPI_COMBINER_HINDEXED_BLOCK:  // count, blocklength, displacements
      take(0, 2, c.integers);
      take(2, static_cast<std::size_t>(large.at(0)), c.addresses);
      return;
    case MPI_COMBINER_RESIZED:  // lb, extent
      take(0, 2, c.addresses);
      return;
    case MPI_COMBINER_SUBARRAY:  // ints: ndims, order; large: sizes, subsizes, starts
      c.integers.push_back(small.at(0));
      take(0, large.size(), c.integers);
      c.integers.push_back(small.at(1));
      return;
    case MPI_COMBINER_DARRAY: {  // ints: size, rank, ndims, distribs, dargs, psizes, order; large: gsizes
      const auto n = static_cast<std::size_t>(small.at(2));
      c.integers.assign(small.begin(), small.begin() + 3);
      take(0, n, c.integers);
      c.integers.insert(c.integers.end(), small.begin() + 3, small.end());
      return;
    }
    default:  // contiguous, vector, indexed, indexed_block: integers only
      take(0, large.size(), c.integers);
  }
}

type::Ints part(const type::Ints& values, std::size_t from, std::size_t n) {
  if (from + n > values.size()) throw type::SpecError("the MPI's datatype contents are too short");
  return {values.begin() + static_cast<std::ptrdiff_t>(from), values.begin() + static_cast<std::ptrdiff_t>(from + n)};
}

type::Order order_of(std::int64_t order) { return order == MPI_ORDER_C ? type::Order::c : type::Order::fortran; }

type::Distribution distribution_of(std::int64_t d) {
  if (d == MPI_DISTRIBUTE_BLOCK) return type::Distribution::block;
  return d == MPI_DISTRIBUTE_CYCLIC ? type::Distribution::cyclic : type::Distribution::none;
}

SpecPtr predefined(MPI_Datatype type) {
  if (const auto* known = known_type(type); known && known->reason() == plan::Reason::accelerated) {
    // A pair type: its parts are those of its layout.
    std::vector<type::Member> members;
    const auto& l = known->layout();
    if (l.data.node->kind == type::Node::Kind::block) {
      members.push_back({0, l.size});
    } else {
      for (std::size_t i = 0; i < l.data.node->offsets.size(); ++i)
        members.push_back({l.data.node->offsets[i], l.data.node->prefix[i + 1] - l.data.node->prefix[i]});
    }
    auto pair =
        std::make_shared<Spec>(*type::named("pair " + std::to_string(key_of(type)), std::move(members), l.extent, 1));
    pair->pair = true;
    return pair;
  }
  MPI_Count size;
  require(process->own.Type_size_x(type, &size));
  return type::basic("basic " + std::to_string(key_of(type)), size);
}

SpecPtr build(const Contents& c, const std::vector<SpecPtr>& types) {
  const auto& i = c.integers;
  const auto n = i.empty() ? std::size_t{0} : static_cast<std::size_t>(i[0]);
  switch (c.combiner) {
    case MPI_COMBINER_DUP: return type::dup(types.at(0));
    case MPI_COMBINER_CONTIGUOUS: return type::contiguous(i.at(0), types.at(0));
    case MPI_COMBINER_VECTOR: return type::vector(i.at(0), i.at(1), i.at(2), types.at(0));
    case MPI_COMBINER_HVECTOR: return type::hvector(i.at(0), i.at(1), c.addresses.at(0), types.at(0));
    case MPI_COMBINER_INDEXED: return type::indexed(part(i, 1, n), part(i, 1 + n, n), types.at(0));
    case MPI_COMBINER_HINDEXED: return type::hindexed(part(i, 1, n), part(c.addresses, 0, n), types.at(0));
    case MPI_COMBINER_INDEXED_BLOCK: return type::indexed_block(i.at(1), part(i, 2, n), types.at(0));
    case MPI_COMBINER_HINDEXED_BLOCK: return type::hindexed_block(i.at(1), part(c.addresses, 0, n), types.at(0));
    case MPI_COMBINER_STRUCT: return type::structure(part(i, 1, n), part(c.addresses, 0, n), types);
    case MPI_COMBINER_SUBARRAY:
      return type::subarray(part(i, 1, n), part(i, 1 + n, n), part(i, 1 + 2 * n, n), order_of(i.at(1 + 3 * n)),
                            types.at(0));
    case MPI_COMBINER_DARRAY: {
      const auto d = static_cast<std::size_t>(i.at(2));
      std::vector<type::Distribution> distributions;
      for (const auto value : part(i, 3 + d, d)) distributions.push_back(distribution_of(value));
      auto arguments = part(i, 3 + 2 * d, d);
      for (auto& a : arguments)
        if (a == MPI_DISTRIBUTE_DFLT_DARG) a = type::default_distribution_argument;
      return type::darray(i.at(0), i.at(1), part(i, 3, d), distributions, arguments, part(i, 3 + 3 * d, d),
                          order_of(i.at(3 + 4 * d)), types.at(0));
    }
    case MPI_COMBINER_RESIZED: return type::resized(c.addresses.at(0), c.addresses.at(1), types.at(0));
    default: throw type::SpecError("a combiner that is not known");
  }
}

// Larger trees are not analysed: an MPI that hands out a new duplicate of a shared part each time
// (Open MPI) makes a tree of what was a graph.
constexpr std::size_t most_parts = 50000;

/// One decoding. The handles that MPI_Type_get_contents hands out are freed at its end, not before:
/// until then no handle can stand for another type, so that a part which is shared needs to be
/// decoded once only.
class Decoder {
 public:
  Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder() {
    for (auto& type : parts_) process->own.Type_free(&type);
  }

  SpecPtr operator()(MPI_Datatype type, int depth) {
    if (const auto seen = seen_.find(key_of(type)); seen != seen_.end()) return seen->second;
    auto c = contents_of(type);
    if (c.combiner == MPI_COMBINER_NAMED) return predefined(type);
    if (is_f90(c.combiner)) {
      MPI_Count size;
      require(process->own.Type_size_x(type, &size));
      return type::basic("f90 " + std::to_string(key_of(type)), size);
    }
    for (const auto part : c.types)
      if (is_derived(part)) parts_.push_back(part);
    if (depth > type::most_depth || parts_.size() > most_parts)
      throw type::SpecError("the datatype is nested too deep or has too many parts");
    if (!c.large.empty()) sort_large(c);
    std::vector<SpecPtr> types;
    for (const auto part : c.types) types.push_back((*this)(part, depth + 1));
    auto spec = std::make_shared<Spec>(*build(c, types));
    MPI_Count lb, extent;
    require(process->own.Type_get_extent_x(type, &lb, &extent));
    spec->lb = lb;
    spec->extent = extent;
    seen_.emplace(key_of(type), spec);
    return spec;
  }

  /// Only these are new references; predefined ones must not be freed.
  static bool is_derived(MPI_Datatype type) {
    const int combiner = constructor_of(type).combiner;
    return combiner != MPI_COMBINER_NAMED && !is_f90(combiner);
  }

 private:
  static bool is_f90(int combiner) {
    return combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX ||
           combiner == MPI_COMBINER_F90_INTEGER;
  }

  std::map<std::uint64_t, SpecPtr> seen_;
  std::vector<MPI_Datatype> parts_;
};

}  // namespace

SpecPtr decode(MPI_Datatype type) { return Decoder()(type, 0); }

std::optional<std::int64_t> bytes_of_run(MPI_Datatype type) {
  const auto& own = process->own;
  const auto made = constructor_of(type);
  if (made.combiner != MPI_COMBINER_CONTIGUOUS || made.large) return std::nullopt;
  int count = 0;
  MPI_Aint no_address;
  MPI_Datatype part = MPI_DATATYPE_NULL;
  require(own.Type_get_contents(type, 1, 0, 1, &count, &no_address, &part));
  if (Decoder::is_derived(part)) {
    own.Type_free(&part);
    return std::nullopt;
  }
  const auto* known = known_type(part);
  const bool plain = known && known->reason() == plan::Reason::contiguous && !known->mixed();  // not MPI_FLOAT_INT
  if (!plain || known->bytes() == 0 || count <= 0) return std::nullopt;
  return known->bytes() * count;
}

}  // namespace dunnage::mpi
