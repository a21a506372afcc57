#include "mpi/message/packed_type.hpp"

#include <mutex>
#include <unordered_map>
#include <utility>

#include "memory/parcel.hpp"
#include "mpi/process/process.hpp"

namespace dunnage::mpi {
namespace {

// Programs send few different sizes; one of many must not fill the memory with them.
constexpr std::size_t most_kept = 1024;

std::mutex packed_mutex;
std::unordered_map<std::int64_t, MPI_Datatype> kept;  // by size: where a message is divided follows from it

MPI_Datatype make(std::int64_t first, std::int64_t second) {
  const int lengths[] = {static_cast<int>(first), static_cast<int>(second)};
  const MPI_Aint offsets[] = {0, first + memory::Parcel::gap};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  if (process->own.Type_create_hindexed(2, lengths, offsets, MPI_PACKED, &type) != MPI_SUCCESS)
    return MPI_DATATYPE_NULL;
  if (process->own.Type_commit(&type) == MPI_SUCCESS) return type;
  process->own.Type_free(&type);
  return MPI_DATATYPE_NULL;
}

}  // namespace

PackedType& PackedType::operator=(PackedType&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(owned_, other.owned_);
  return *this;
}

PackedType::~PackedType() {
  if (owned_) process->own.Type_free(&handle_);  // an operation under way keeps it
}

PackedType PackedType::divided(std::int64_t first, std::int64_t second) {
  PackedType type;
  const std::lock_guard lock(packed_mutex);
  const auto found = kept.find(first + second);
  if (found != kept.end()) {
    type.handle_ = found->second;
    return type;
  }
  type.handle_ = make(first, second);
  if (type && kept.size() < most_kept)
    kept.emplace(first + second, type.handle_);
  else
    type.owned_ = static_cast<bool>(type);
  return type;
}

void forget_packed_types() {
  const std::lock_guard lock(packed_mutex);
  for (auto& [size, type] : kept) process->own.Type_free(&type);
  kept.clear();
}

}  // namespace dunnage::mpi
