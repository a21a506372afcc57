// Where the elements of a collective's buffer are, as its arguments say. Nothing is looked at
// before it is known to matter: arguments that are not significant may hold anything.
#pragma once

#include <cstdint>

#include "mpi/process/mpi_table.hpp"

namespace dunnage::mpi {

/// What the MPI does with a buffer.
enum class Role {
  send,     // reads it
  receive,  // writes all of it
  update,   // reads it, or may leave some of it as it is
};

/// An array of counts or displacements, of either width.
class Numbers {
 public:
  Numbers() = default;
  template <class T>
  Numbers(const T* values) : values_(values), wide_(sizeof(T) == sizeof(std::int64_t)) {}
  std::int64_t operator[](std::int64_t i) const {
    return wide_ ? static_cast<const std::int64_t*>(values_)[i] : static_cast<const std::int32_t*>(values_)[i];
  }

 private:
  const void* values_ = nullptr;
  bool wide_ = false;
};

/// How many blocks there are.
struct Over {
  enum class What : unsigned char {
    number,   // `argument`
    peers,    // the processes that the collective speaks to
    at_root,  // these, on the rank whose root argument is `argument`; elsewhere none
    if_root,  // one there
    members,  // of this side
    sources,  // neighbours
    targets,
  } what;
  int argument = 0;
};
inline constexpr Over peers_of_comm{Over::What::peers}, members_of_comm{Over::What::members},
    sources{Over::What::sources}, targets{Over::What::targets};
inline Over at_root(int root) { return {Over::What::at_root, root}; }
inline Over if_root(int root) { return {Over::What::if_root, root}; }
/// Of what goes to, or comes from, a root: one, but between two sides nothing on the root's.
inline Over beside_root(int root) { return {Over::What::number, root >= 0}; }
inline Over number(int n) { return {Over::What::number, n}; }
/// One, unless it does not matter.
inline Over unless_no_op(MPI_Op op) { return {Over::What::number, op != MPI_NO_OP}; }
inline Over beyond_null(int rank) { return {Over::What::number, rank != MPI_PROC_NULL}; }

struct Shape {
  enum class Kind : unsigned char {
    equal,   // `count` elements a block, one after the other
    listed,  // counts, and displacements in extents
    placed,  // counts, displacements in bytes, and types
    sum,     // as many as all counts together
    own,     // as many as the count of this rank; of the input, where that is in the same place, all
  } kind = Kind::equal;
  Over over{Over::What::number, 1};
  std::int64_t count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  Numbers counts{}, displs{};
  const MPI_Datatype* types = nullptr;
  bool all_in_place = false;  // equal: one block, but of the input, where that is in the same place, all
};

inline Shape one(std::int64_t count, MPI_Datatype type) { return {.count = count, .type = type}; }
inline Shape blocks(Over over, std::int64_t count, MPI_Datatype type) {
  return {.over = over, .count = count, .type = type};
}
inline Shape listed(Over over, Numbers counts, Numbers displs, MPI_Datatype type) {
  return {.kind = Shape::Kind::listed, .over = over, .type = type, .counts = counts, .displs = displs};
}
inline Shape placed(Over over, Numbers counts, Numbers displs, const MPI_Datatype* types) {
  return {.kind = Shape::Kind::placed, .over = over, .counts = counts, .displs = displs, .types = types};
}
inline Shape sum(Numbers counts, MPI_Datatype type) {
  return {.kind = Shape::Kind::sum, .over = members_of_comm, .type = type, .counts = counts};
}
inline Shape own(Numbers counts, MPI_Datatype type) {
  return {.kind = Shape::Kind::own, .over = members_of_comm, .type = type, .counts = counts};
}
inline Shape own_block(std::int64_t count, MPI_Datatype type) {
  return {.count = count, .type = type, .all_in_place = true};
}

}  // namespace dunnage::mpi
