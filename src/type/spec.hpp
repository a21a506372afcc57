// The constructor tree of a datatype, as MPI_Type_get_envelope and MPI_Type_get_contents tell it.
//
// A Spec says how a type was described; type/layout.hpp says what that amounts to. Both the shim's decoder
// and the text form (type/text.hpp) make Specs, so everything below them is tested without an MPI.
// All values are plain data; a finished Spec is never changed and may be shared between threads.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace dunnage::type {

enum class Combiner {
  named,           // predefined; `members` lists its parts (several for pair types)
  dup,             // types[0]
  contiguous,      // integers: count
  vector,          // integers: count, blocklength, stride (in extents)
  hvector,         // integers: count, blocklength; addresses: stride (in bytes)
  indexed,         // integers: blocklengths; addresses: displacements (in extents)
  hindexed,        // integers: blocklengths; addresses: displacements (in bytes)
  indexed_block,   // integers: blocklength; addresses: displacements (in extents)
  hindexed_block,  // integers: blocklength; addresses: displacements (in bytes)
  structure,       // integers: blocklengths; addresses: displacements (in bytes); types
  subarray,        // dimensions: sizes, subsizes, starts; order
  darray,          // integers: size, rank; dimensions: gsizes, distributions, arguments, process grid; order
  resized,         // addresses: lb, extent
};

enum class Order { c, fortran };
enum class Distribution : std::int64_t { block, cyclic, none };
inline constexpr std::int64_t default_distribution_argument = -1;

/// One basic element of a predefined type: displacement and size in bytes.
struct Member {
  std::int64_t displacement;
  std::int64_t size;
  bool operator==(const Member&) const = default;
};

/// One dimension of a subarray or darray, in the order in which the user gave them.
struct Dimension {
  std::int64_t size = 0;     // global size, in elements
  std::int64_t subsize = 0;  // subarray only
  std::int64_t start = 0;    // subarray only
  Distribution distribution = Distribution::none;                // darray only
  std::int64_t argument = default_distribution_argument;         // darray only
  std::int64_t processes = 1;                                    // darray only
};

struct Spec;
using SpecPtr = std::shared_ptr<const Spec>;

struct Spec {
  Combiner combiner = Combiner::named;
  std::string name;  // of a predefined type, for display
  std::vector<std::int64_t> integers;
  std::vector<std::int64_t> addresses;
  std::vector<SpecPtr> types;
  std::vector<Dimension> dimensions;
  std::vector<Member> members;
  bool pair = false;  // predefined, of two different types
  Order order = Order::c;

  // What the constructors derive. A decoder overwrites lb and extent with what the MPI says, because the
  // standard leaves the padding of a struct to the implementation.
  std::int64_t size = 0;       // bytes of data
  std::int64_t lb = 0;         // lower bound, bytes
  std::int64_t extent = 0;     // bytes
  std::int64_t alignment = 1;  // bytes
};

/// Thrown for a type whose sizes or displacements do not fit 63 bits, or whose arguments are not valid.
class SpecError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using Ints = std::vector<std::int64_t>;

// Factories, one per constructor, with MPI's argument order. They throw SpecError.
SpecPtr named(std::string name, std::vector<Member> members, std::int64_t extent, std::int64_t alignment);
SpecPtr basic(std::string name, std::int64_t size);
SpecPtr dup(SpecPtr old);
SpecPtr contiguous(std::int64_t count, SpecPtr old);
SpecPtr vector(std::int64_t count, std::int64_t blocklength, std::int64_t stride, SpecPtr old);
SpecPtr hvector(std::int64_t count, std::int64_t blocklength, std::int64_t stride, SpecPtr old);
SpecPtr indexed(Ints blocklengths, Ints displacements, SpecPtr old);
SpecPtr hindexed(Ints blocklengths, Ints displacements, SpecPtr old);
SpecPtr indexed_block(std::int64_t blocklength, Ints displacements, SpecPtr old);
SpecPtr hindexed_block(std::int64_t blocklength, Ints displacements, SpecPtr old);
SpecPtr structure(Ints blocklengths, Ints displacements, std::vector<SpecPtr> types);
SpecPtr subarray(const Ints& sizes, const Ints& subsizes, const Ints& starts, Order order, SpecPtr old);
SpecPtr darray(std::int64_t size, std::int64_t rank, const Ints& gsizes,
               const std::vector<Distribution>& distributions, const Ints& arguments,
               const Ints& processes, Order order, SpecPtr old);
SpecPtr resized(std::int64_t lb, std::int64_t extent, SpecPtr old);

/// A darray dimension's share of one process: blocks of `length` elements from `start`, `step` apart, `full`
/// of them, and a shorter last one of `rest` elements. MPI 4.1, section 5.1.4.
struct Share {
  std::int64_t start, length, step, full, rest;
  std::int64_t elements() const { return full * length + rest; }
};
Share share_of(const Dimension& dimension, std::int64_t coordinate);

/// The process' coordinates in a darray's process grid (row-major whatever the storage order).
Ints grid_coordinates(const Spec& darray);

/// The dimensions of a subarray or darray as indices, fastest varying in memory first.
std::vector<std::size_t> fastest_first(const Spec& array);

/// Checked arithmetic: throws SpecError where the result does not fit.
std::int64_t times(std::int64_t a, std::int64_t b);
std::int64_t plus(std::int64_t a, std::int64_t b);

}  // namespace dunnage::type
