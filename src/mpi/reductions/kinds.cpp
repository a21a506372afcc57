#include "mpi/reductions/kinds.hpp"

#include <unordered_map>

namespace dunnage::mpi {
namespace {

using pack::cuda::Element;
using Op = pack::cuda::Operation;

/// MPI 4.1, section 6.9.2: which operations a datatype has beside what its C type has.
struct KnownElement {
  Element element;
  bool arithmetic, logical, bitwise;
};

Element integer_of(MPI_Count size, bool is_signed) {
  switch (size) {
    case 1: return is_signed ? Element::i8 : Element::u8;
    case 2: return is_signed ? Element::i16 : Element::u16;
    case 4: return is_signed ? Element::i32 : Element::u32;
    default: return is_signed ? Element::i64 : Element::u64;
  }
}

class ElementTable {
 public:
  ElementTable() {
    for (const auto type : {MPI_SIGNED_CHAR, MPI_SHORT, MPI_INT, MPI_LONG, MPI_LONG_LONG, MPI_INT8_T, MPI_INT16_T,
                            MPI_INT32_T, MPI_INT64_T})
      add_integer(type, true, {Element::i8, true, true, true});
    for (const auto type : {MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT, MPI_UNSIGNED, MPI_UNSIGNED_LONG,
                            MPI_UNSIGNED_LONG_LONG, MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T})
      add_integer(type, false, {Element::u8, true, true, true});
    // Fortran's integers, and those of both languages.
    for (const auto type :
         {MPI_INTEGER, MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8, MPI_AINT, MPI_OFFSET, MPI_COUNT})
      add_integer(type, true, {Element::i8, true, false, true});
    add(MPI_BYTE, {Element::u8, false, false, true});
    add(MPI_C_BOOL, {Element::boolean, false, true, false});
    for (const auto type : {MPI_FLOAT, MPI_REAL, MPI_REAL4}) add_number(type, Element::f32);
    for (const auto type : {MPI_DOUBLE, MPI_DOUBLE_PRECISION, MPI_REAL8}) add_number(type, Element::f64);
    for (const auto type : {MPI_C_FLOAT_COMPLEX, MPI_COMPLEX, MPI_COMPLEX8}) add_number(type, Element::c32);
    for (const auto type : {MPI_C_DOUBLE_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_COMPLEX16}) add_number(type, Element::c64);
#ifdef MPI_CXX_BOOL
    add(MPI_CXX_BOOL, {Element::boolean, false, true, false});
    add_number(MPI_CXX_FLOAT_COMPLEX, Element::c32);
    add_number(MPI_CXX_DOUBLE_COMPLEX, Element::c64);
#endif
    add_number(MPI_FLOAT_INT, Element::f32_i32);
    add_number(MPI_DOUBLE_INT, Element::f64_i32);
    add_number(MPI_LONG_INT, Element::i64_i32);
    add_number(MPI_SHORT_INT, Element::i16_i32);
    add_number(MPI_2INT, Element::i32_i32);
    add_number(MPI_2INTEGER, Element::i32_i32);
    add_number(MPI_2REAL, Element::f32_f32);
    add_number(MPI_2DOUBLE_PRECISION, Element::f64_f64);
  }
  const KnownElement* find(MPI_Datatype type) const {
    const auto found = all_.find(key_of(type));
    return found == all_.end() ? nullptr : &found->second;
  }

 private:
  static MPI_Count size_of(MPI_Datatype type) {
    MPI_Count size = 0;
    return type != MPI_DATATYPE_NULL && process->own.Type_size_x(type, &size) == MPI_SUCCESS ? size : 0;
  }
  void add_integer(MPI_Datatype type, bool is_signed, KnownElement known) {
    known.element = integer_of(size_of(type), is_signed);
    add(type, known);
  }
  void add_number(MPI_Datatype type, Element element) { add(type, {element, true, false, false}); }
  /// An MPI may lack Fortran's types, or have them in other sizes.
  void add(MPI_Datatype type, const KnownElement& known) {
    const auto& facts = pack::cuda::facts_of(known.element);
    MPI_Count low = 0, extent = 0;
    const auto size = size_of(type);
    if (size == 0 || process->own.Type_get_extent_x(type, &low, &extent) != MPI_SUCCESS) return;
    if (size == facts.data && extent == facts.extent && low == 0) all_.emplace(key_of(type), known);
  }

  std::unordered_map<std::uint64_t, KnownElement> all_;
};

std::optional<Op> operation_of(MPI_Op op) {
  if (op == MPI_SUM) return Op::sum;
  if (op == MPI_PROD) return Op::product;
  if (op == MPI_MIN) return Op::minimum;
  if (op == MPI_MAX) return Op::maximum;
  if (op == MPI_LAND) return Op::logical_and;
  if (op == MPI_LOR) return Op::logical_or;
  if (op == MPI_LXOR) return Op::logical_xor;
  if (op == MPI_BAND) return Op::bitwise_and;
  if (op == MPI_BOR) return Op::bitwise_or;
  if (op == MPI_BXOR) return Op::bitwise_xor;
  if (op == MPI_MINLOC) return Op::minimum_location;
  if (op == MPI_MAXLOC) return Op::maximum_location;
  return std::nullopt;
}

bool allows(const KnownElement& known, Op operation) {
  switch (operation) {
    case Op::logical_and:
    case Op::logical_or:
    case Op::logical_xor: return known.logical;
    case Op::bitwise_and:
    case Op::bitwise_or:
    case Op::bitwise_xor: return known.bitwise;
    default: return known.arithmetic;
  }
}

}  // namespace

std::optional<KernelOf> kernel_of(MPI_Datatype type, MPI_Op op) {
  static const auto* known_elements = new ElementTable;  // never destroyed
  const auto operation = operation_of(op);
  const auto* known = operation ? known_elements->find(type) : nullptr;
  if (!known || !allows(*known, *operation) || !applies(*operation, known->element)) return std::nullopt;
  return KernelOf{known->element, *operation};
}

}  // namespace dunnage::mpi
