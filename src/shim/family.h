/* Which ABI an MPI library has. */
#ifndef DUNNAGE_SHIM_FAMILY_H
#define DUNNAGE_SHIM_FAMILY_H

#include <elf.h>
#include <link.h>
#include <string.h>

struct dunnage_place {
  ElfW(Addr) address;
  const char* file;
};

static int dunnage_is_there(struct dl_phdr_info* info, size_t size, void* data) {
  struct dunnage_place* place = (struct dunnage_place*)data;
  (void)size;
  for (int i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_LOAD &&
        place->address - info->dlpi_addr - info->dlpi_phdr[i].p_vaddr < info->dlpi_phdr[i].p_memsz) {
      place->file = info->dlpi_name;
      return 1;
    }
  return 0;
}

/* Returns the path of the library with that address, or NULL if there is none. dladdr() would also
   look at every symbol of the library, which takes 20 us for an MPI. */
static inline const char* dunnage_file_of(const void* address) {
  struct dunnage_place place = {(ElfW(Addr))address, NULL};
  dl_iterate_phdr(dunnage_is_there, &place);
  return place.file;
}

/* Returns the ABI family of an MPI, which is the name of its backend, or NULL if it is unknown.
   `function` is one of its functions, `version` what MPI_Get_library_version says. A library with
   the standard's ABI is recognised by its file name, whoever made it. The other libraries are
   recognised by their maker. */
static inline const char* dunnage_family_of(void* function, const char* version) {
  const char* file = dunnage_file_of(function);
  const char* slash = file ? strrchr(file, '/') : NULL;
  if (file && strncmp(slash ? slash + 1 : file, "libmpi_abi.", 11) == 0) return "abi";
  if (strstr(version, "Open MPI")) return "openmpi";
  if (strstr(version, "MPICH") || strstr(version, "Intel(R) MPI") || strstr(version, "MVAPICH")) return "mpich";
  return NULL;
}

#endif
