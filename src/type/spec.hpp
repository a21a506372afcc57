// The constructor tree of a datatype, as MPI_Type_get_envelope and MPI_Type_get_contents return it.
//
// A Spec says how a type was described. type/layout.hpp says which bytes that means. Specs come
// from the decoder of MPI datatypes and from the text form (type/text.hpp), so everything below is
// tested without an MPI. All values are plain data. A finished Spec is never changed, and threads
// may share it.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace dunnage::type {

enum class Combiner {
  named,           // predefined type; `members` lists its basic elements (several for a pair type)
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

/// One dimension of a subarray or darray. Dimensions stand in the order in which the user gave
/// them.
struct Dimension {
  std::int64_t size = 0;                                  // global size, in elements
  std::int64_t subsize = 0;                               // subarray only
  std::int64_t start = 0;                                 // subarray only
  Distribution distribution = Distribution::none;         // darray only
  std::int64_t argument = default_distribution_argument;  // darray only
  std::int64_t processes = 1;                             // darray only
};

struct Spec;
using SpecPtr = std::shared_ptr<const Spec>;

struct Spec {
  Combiner combiner = Combiner::named;
  std::string name;  // of a predefined type, to be shown
  std::vector<std::int64_t> integers;
  std::vector<std::int64_t> addresses;
  std::vector<SpecPtr> types;
  std::vector<Dimension> dimensions;
  std::vector<Member> members;
  bool pair = false;  // a predefined type that consists of two different types
  Order order = Order::c;

  // The constructors derive the following members. A decoder overwrites lb and extent with the
  // MPI's values, because the standard leaves the padding of a struct to the implementation.
  std::int64_t size = 0;       // bytes of data
  std::int64_t lb = 0;         // lower bound, bytes
  std::int64_t extent = 0;     // bytes
  std::int64_t alignment = 1;  // bytes
};

/// Thrown if a type's sizes or displacements do not fit in 63 bits, or if an argument is not valid.
class SpecError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using Ints = std::vector<std::int64_t>;

/// Deeper trees are not analysed: many functions walk them by recursion.
inline constexpr int most_depth = 1000;

// One factory for each constructor, with MPI's order of arguments. Every factory throws SpecError.
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
SpecPtr darray(std::int64_t size, std::int64_t rank, const Ints& gsizes, const std::vector<Distribution>& distributions,
               const Ints& arguments, const Ints& processes, Order order, SpecPtr old);
SpecPtr resized(std::int64_t lb, std::int64_t extent, SpecPtr old);

/// One process's share of a darray's dimension. The share has `full` blocks of `length` elements.
/// The first block begins at `start`, and blocks begin `step` apart. A shorter last block of `rest`
/// elements follows. Source: MPI 4.1, section 5.1.4.
struct Share {
  std::int64_t start, length, step, full, rest;
  std::int64_t elements() const { return full * length + rest; }
};
Share share_of(const Dimension& dimension, std::int64_t coordinate);

/// Returns the process's coordinates in the darray's process grid. The grid is row-major in either
/// storage order.
Ints grid_coordinates(const Spec& darray);

/// Returns the indices of the dimensions of a subarray or darray. The dimension that varies fastest
/// in memory comes first.
std::vector<std::size_t> fastest_first(const Spec& array);

/// Checked arithmetic. Throws SpecError if the result does not fit.
std::int64_t times(std::int64_t a, std::int64_t b);
std::int64_t plus(std::int64_t a, std::int64_t b);
std::int64_t minus(std::int64_t a, std::int64_t b);

}  // namespace dunnage::type
