#include "mpi/hooks/memory_kinds.hpp"

#include <cstring>

#include "plan/memory_kinds.hpp"

namespace dunnage::mpi {
namespace {

constexpr const char* key_of_kinds = "mpi_memory_alloc_kinds";

/// The kinds that the MPI names. Nothing if it names none.
std::optional<std::string> kinds_of_mpi(MPI_Info info) {
  const auto& own = process->own;
  int length = 0, there = 0;
  if (own.Info_get_valuelen(info, key_of_kinds, &length, &there) != MPI_SUCCESS || !there) return std::nullopt;
  std::string kinds(static_cast<std::size_t>(length) + 1, '\0');
  if (own.Info_get(info, key_of_kinds, length, kinds.data(), &there) != MPI_SUCCESS || !there) return std::nullopt;
  kinds.resize(std::strlen(kinds.c_str()));
  return kinds;
}

std::string kinds_for(MPI_Info info) {
  const auto kinds = kinds_of_mpi(info);
  return plan::with_cuda_kinds(kinds ? *kinds : std::string(plan::default_memory_kinds));
}

}  // namespace

void add_memory_kinds(MPI_Info info) {
  const auto kinds = kinds_for(info);
  if (kinds.size() < MPI_MAX_INFO_VAL) process->own.Info_set(info, key_of_kinds, kinds.c_str());
}

bool takes_more_memory(MPI_Win win) {
  int* flavor = nullptr;
  int there = 0;
  return process->own.Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &there) == MPI_SUCCESS && there &&
         *flavor == MPI_WIN_FLAVOR_DYNAMIC;
}

const char* environment_value(MPI_Info info, const char* key) {
  if (info != MPI_INFO_ENV || !key || std::strcmp(key, key_of_kinds) != 0 || !takes_device_memory()) return nullptr;
  static const auto* kinds = new std::string(kinds_for(info));  // MPI_INFO_ENV does not change
  return kinds->c_str();
}

bool environment_lacks_kinds(MPI_Info info) {
  return info == MPI_INFO_ENV && takes_device_memory() && !kinds_of_mpi(info);
}

void copy_text(char* to, const char* from, int size) {
  if (size <= 0) return;
  std::strncpy(to, from, static_cast<std::size_t>(size));
  to[size - 1] = '\0';
}

}  // namespace dunnage::mpi
