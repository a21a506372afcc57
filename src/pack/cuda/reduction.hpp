// What kernels reduce: the kinds of elements, the operations, and which operation an element has.
// They are those of the MPI standard (MPI 4.1, section 6.9.2) without types that GPUs do not have.
#pragma once

#include "pack/cuda/portable.hpp"

namespace dunnage::pack::cuda {

/// The name and the C++ type of each kind of element. The last ones are pairs of a value and its
/// index. A type may have commas, so X takes it as its last arguments.
// clang-format off
#define DUNNAGE_REDUCTION_ELEMENTS(X) \
  X(i8, std::int8_t) X(u8, std::uint8_t) X(i16, std::int16_t) X(u16, std::uint16_t) \
  X(i32, std::int32_t) X(u32, std::uint32_t) X(i64, std::int64_t) X(u64, std::uint64_t) \
  X(f32, float) X(f64, double) X(c32, Complex<float>) X(c64, Complex<double>) X(boolean, Boolean) \
  X(f32_i32, Located<float, std::int32_t>) X(f64_i32, Located<double, std::int32_t>) \
  X(i64_i32, Located<std::int64_t, std::int32_t>) X(i16_i32, Located<std::int16_t, std::int32_t>) \
  X(i32_i32, Located<std::int32_t, std::int32_t>) X(f32_f32, Located<float, float>) \
  X(f64_f64, Located<double, double>)
// clang-format on

/// A complex number, as C and Fortran have it.
template <class T>
struct Complex {
  T real, imaginary;
};
/// A byte that is 0 or not.
struct Boolean {
  std::uint8_t value;
};
/// The operand of MPI_MINLOC and MPI_MAXLOC. There may be gaps, which are not touched.
template <class Value, class Index>
struct Located {
  Value value;
  Index index;
};

#define DUNNAGE_ELEMENT_NAME(name, ...) name,
enum class Element : std::uint8_t { DUNNAGE_REDUCTION_ELEMENTS(DUNNAGE_ELEMENT_NAME) };
#undef DUNNAGE_ELEMENT_NAME

enum class Operation : std::uint8_t {
  sum,
  product,
  minimum,
  maximum,
  logical_and,
  logical_or,
  logical_xor,
  bitwise_and,
  bitwise_or,
  bitwise_xor,
  minimum_location,
  maximum_location,
};
inline constexpr int operation_kinds = 12;

/// What a kind of element is, as far as operations depend on it.
enum class Category { integer, floating, complex, boolean, located };

template <class T>
struct CategoryOf {
  static constexpr Category value = static_cast<T>(1) / 2 == 0 ? Category::integer : Category::floating;
};
template <class T>
struct CategoryOf<Complex<T>> {
  static constexpr Category value = Category::complex;
};
template <>
struct CategoryOf<Boolean> {
  static constexpr Category value = Category::boolean;
};
template <class V, class I>
struct CategoryOf<Located<V, I>> {
  static constexpr Category value = Category::located;
};

/// Whether the standard defines an operation on elements of a category.
DUNNAGE_HD constexpr bool applies(Operation operation, Category category) {
  switch (operation) {
    case Operation::sum:
    case Operation::product:
      return category == Category::integer || category == Category::floating || category == Category::complex;
    case Operation::minimum:
    case Operation::maximum: return category == Category::integer || category == Category::floating;
    case Operation::logical_and:
    case Operation::logical_or:
    case Operation::logical_xor: return category == Category::integer || category == Category::boolean;
    case Operation::bitwise_and:
    case Operation::bitwise_or:
    case Operation::bitwise_xor: return category == Category::integer;
    case Operation::minimum_location:
    case Operation::maximum_location: return category == Category::located;
  }
  return false;
}

/// What is to be known about a kind of element.
struct ElementFacts {
  const char* name;
  Category category;
  std::int64_t extent, alignment;  // bytes
  std::int64_t data;               // bytes without gaps
  constexpr bool gaps() const { return data != extent; }
};
template <class T>
struct DataOf {
  static constexpr std::int64_t bytes = sizeof(T);
};
template <class V, class I>
struct DataOf<Located<V, I>> {
  static constexpr std::int64_t bytes = sizeof(V) + sizeof(I);
};
#define DUNNAGE_ELEMENT_FACTS(name, ...)                                                         \
  ElementFacts{#name, CategoryOf<__VA_ARGS__>::value, sizeof(__VA_ARGS__), alignof(__VA_ARGS__), \
               DataOf<__VA_ARGS__>::bytes},
inline constexpr ElementFacts element_facts[] = {DUNNAGE_REDUCTION_ELEMENTS(DUNNAGE_ELEMENT_FACTS)};
#undef DUNNAGE_ELEMENT_FACTS
inline constexpr int element_kinds = sizeof element_facts / sizeof element_facts[0];

constexpr const ElementFacts& facts_of(Element element) { return element_facts[static_cast<int>(element)]; }
constexpr bool applies(Operation operation, Element element) { return applies(operation, facts_of(element).category); }

inline constexpr int reduction_chunk = 16;  // bytes that a thread reads at once if it can

/// By which ranks reduce over their own data in one launch each: ranks that reduce the same
/// elements, each on a GPU of its own. Block b of a launch tells block b of the other launches that
/// it has read its elements. It writes the results when all of them have told it. So all blocks
/// must run at once. A slot is a word of 8 bytes in device memory, and holds the number of the last
/// reduction. So none is ever reset.
struct Handshake {
  static constexpr std::uint32_t most_ranks = 8;
  static constexpr std::uint32_t most_blocks = 256;
  std::uint64_t number = 0;            // of this reduction, grows
  std::uint64_t put[most_ranks] = {};  // for each rank the address, in its memory, of this rank's slot for block 0
  const char* slots = nullptr;         // in this rank's memory: for each block, one for each rank
  std::uint32_t ranks = 0;             // 0: there is none, and blocks write at once
  bool wide = false;                   // all ranks' addresses, and the length, are multiples of `reduction_chunk`
};

/// The parameter of a reduction's kernel. Element i of the result is the sources' elements i,
/// reduced in the order of the sources. The result may be one of the sources.
struct Reduction {
  static constexpr int most_sources = 32;
  const char* source[most_sources] = {};
  char* to = nullptr;
  std::uint64_t count = 0;  // elements
  std::uint32_t sources = 0;
  Operation operation = Operation::sum;
  bool wide = false;  // all addresses are multiples of `reduction_chunk`
  Handshake handshake;
};

}  // namespace dunnage::pack::cuda
