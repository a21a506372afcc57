#include "mpi/windows/elements_of.hpp"

#include <algorithm>

namespace dunnage::mpi {
namespace {

bool is_predefined(MPI_Datatype type, int& integers, int& addresses, int& types) {
  int combiner = MPI_COMBINER_NAMED;
  if (process->own.Type_get_envelope(type, &integers, &addresses, &types, &combiner) != MPI_SUCCESS) return true;
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_INTEGER || combiner == MPI_COMBINER_F90_REAL ||
         combiner == MPI_COMBINER_F90_COMPLEX;
}

MPI_Count size_of(MPI_Datatype type) {
  MPI_Count size = 0;
  return process->own.Type_size_x(type, &size) == MPI_SUCCESS ? size : 0;
}

/// The contents of a type. A type made by a large-count constructor tells them only to the
/// large-count call.
std::vector<MPI_Datatype> parts_of(MPI_Datatype type, int integers, int addresses, int types) {
  const auto& own = process->own;
  std::vector<MPI_Datatype> parts;
  if (own.Type_get_envelope_c && own.Type_get_contents_c) {
    MPI_Count ni = 0, na = 0, nl = 0, nt = 0;
    int combiner = 0;
    if (own.Type_get_envelope_c(type, &ni, &na, &nl, &nt, &combiner) != MPI_SUCCESS) return {};
    std::vector<int> some(static_cast<std::size_t>(ni) + 1);
    std::vector<MPI_Aint> places(static_cast<std::size_t>(na) + 1);
    std::vector<MPI_Count> large(static_cast<std::size_t>(nl) + 1);
    parts.resize(static_cast<std::size_t>(nt));
    const int rc =
        own.Type_get_contents_c(type, ni, na, nl, nt, some.data(), places.data(), large.data(), parts.data());
    return rc == MPI_SUCCESS ? parts : std::vector<MPI_Datatype>();
  }
  std::vector<int> some(static_cast<std::size_t>(integers) + 1);
  std::vector<MPI_Aint> places(static_cast<std::size_t>(addresses) + 1);
  parts.resize(static_cast<std::size_t>(types));
  const int rc = own.Type_get_contents(type, integers, addresses, types, some.data(), places.data(), parts.data());
  return rc == MPI_SUCCESS ? parts : std::vector<MPI_Datatype>();
}

}  // namespace

MPI_Datatype element_of(MPI_Datatype type) {
  int integers = 0, addresses = 0, types = 0;
  if (is_predefined(type, integers, addresses, types)) return type;
  auto parts = parts_of(type, integers, addresses, types);
  MPI_Datatype found = MPI_DATATYPE_NULL;
  for (auto& part : parts) {
    if (found == MPI_DATATYPE_NULL && size_of(part) > 0) found = element_of(part);
    if (!is_predefined(part, integers, addresses, types)) process->own.Type_free(&part);
  }
  return found;
}

int reduce_packed(std::vector<char>& target, const std::vector<char>& given, MPI_Datatype element, MPI_Op op) {
  const auto& own = process->own;
  MPI_Count low = 0, extent = 0;
  const auto size = size_of(element);
  if (size == 0 || own.Type_get_extent_x(element, &low, &extent) != MPI_SUCCESS) return MPI_ERR_TYPE;
  const auto all = static_cast<MPI_Count>(target.size()) / size;
  constexpr MPI_Count most = 1 << 20;  // elements at a time
  std::vector<char> in, inout;
  for (MPI_Count begin = 0; begin < all; begin += most) {
    const auto n = static_cast<int>(std::min(most, all - begin));
    const auto bytes = static_cast<int>(n * size);
    const char* from = given.data() + begin * size;
    char* to = target.data() + begin * size;
    if (size == extent) {
      if (const int rc = own.Reduce_local(from, to, n, element, op); rc != MPI_SUCCESS) return rc;
      continue;
    }
    // Elements with gaps, which packed data do not have.
    in.resize(static_cast<std::size_t>(n * extent));
    inout.resize(in.size());
    int at = 0;
    own.Unpack(from, bytes, &at, in.data(), n, element, MPI_COMM_SELF);
    at = 0;
    own.Unpack(to, bytes, &at, inout.data(), n, element, MPI_COMM_SELF);
    if (const int rc = own.Reduce_local(in.data(), inout.data(), n, element, op); rc != MPI_SUCCESS) return rc;
    at = 0;
    own.Pack(inout.data(), n, element, to, bytes, &at, MPI_COMM_SELF);
  }
  return MPI_SUCCESS;
}

}  // namespace dunnage::mpi
