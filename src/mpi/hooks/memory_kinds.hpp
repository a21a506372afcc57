// The info key "mpi_memory_alloc_kinds" of MPI 4.1, by which programs find out which memory they
// may use. If Dunnage handles device memory, the answers name it.
//
// Infos of communicators, files, windows and sessions are objects of the program's own, so the key
// is set there. MPI_INFO_ENV belongs to the MPI. So the functions that read an info answer for it.
#pragma once

#include "mpi/hooks/gpu_support.hpp"
#include "mpi/windows/make.hpp"

namespace dunnage::mpi {

/// Adds the kinds to an info that the MPI has made.
void add_memory_kinds(MPI_Info info);
/// Whether a window's program may still attach memory.
bool takes_more_memory(MPI_Win win);

template <class Fn, class Object>
int object_info(Hook, Fn next, Object object, MPI_Info* used) {
  const int rc = next(object, used);
  if (rc == MPI_SUCCESS && takes_device_memory()) add_memory_kinds(*used);
  return rc;
}
template <class Fn>
int window_info(Hook hook, Fn next, MPI_Win win, MPI_Info* used) {
  if (takes_more_memory(win) && !process->mpi_knows_gpus() && !attaches_device_memory(win)) return next(win, used);
  return object_info(hook, next, win, used);
}

/// What MPI_INFO_ENV is to say for a key; null if that is the MPI's affair.
const char* environment_value(MPI_Info info, const char* key);
/// Whether the MPI's MPI_INFO_ENV lacks a key that ours has.
bool environment_lacks_kinds(MPI_Info info);
/// Copies at most `size` bytes with the final zero.
void copy_text(char* to, const char* from, int size);

template <class Fn>
int info_get(Hook, Fn next, MPI_Info info, const char* key, int valuelen, char* value, int* flag) {
  const auto* text = environment_value(info, key);
  if (!text || !value || !flag || valuelen < 0) return next(info, key, valuelen, value, flag);
  copy_text(value, text, valuelen + 1);
  *flag = 1;
  return MPI_SUCCESS;
}
template <class Fn>
int info_get_string(Hook, Fn next, MPI_Info info, const char* key, int* buflen, char* value, int* flag) {
  const auto* text = environment_value(info, key);
  if (!text || !buflen || !flag) return next(info, key, buflen, value, flag);
  if (*buflen > 0 && value) copy_text(value, text, *buflen);
  *buflen = static_cast<int>(std::char_traits<char>::length(text)) + 1;
  *flag = 1;
  return MPI_SUCCESS;
}
template <class Fn>
int info_get_valuelen(Hook, Fn next, MPI_Info info, const char* key, int* valuelen, int* flag) {
  const auto* text = environment_value(info, key);
  if (!text || !valuelen || !flag) return next(info, key, valuelen, flag);
  *valuelen = static_cast<int>(std::char_traits<char>::length(text));
  *flag = 1;
  return MPI_SUCCESS;
}
template <class Fn>
int info_get_nkeys(Hook, Fn next, MPI_Info info, int* nkeys) {
  const int rc = next(info, nkeys);
  if (rc == MPI_SUCCESS && environment_lacks_kinds(info)) ++*nkeys;
  return rc;
}
/// Our key is the last one.
template <class Fn>
int info_get_nthkey(Hook, Fn next, MPI_Info info, int n, char* key) {
  int nkeys = 0;
  if (!key || !environment_lacks_kinds(info) || process->own.Info_get_nkeys(info, &nkeys) != MPI_SUCCESS || n != nkeys)
    return next(info, n, key);
  copy_text(key, "mpi_memory_alloc_kinds", MPI_MAX_INFO_KEY);
  return MPI_SUCCESS;
}
template <class Fn>
int info_dup(Hook, Fn next, MPI_Info info, MPI_Info* fresh) {
  const int rc = next(info, fresh);
  if (rc == MPI_SUCCESS && info == MPI_INFO_ENV && takes_device_memory()) add_memory_kinds(*fresh);
  return rc;
}

}  // namespace dunnage::mpi
