// Finds out which paths between the GPUs of two processes work on this host, by trying them.
#pragma once

#include <string>
#include <vector>

namespace dunnage::tool {

struct GpuPaths {
  // direct[reader][owner] says why a process on GPU `reader` cannot read another process's memory
  // on GPU `owner`. Empty if it can.
  std::vector<std::vector<std::string>> direct;
  // rings[gpu] says why shared memory cannot be page-locked for a GPU. Empty if it can.
  std::vector<std::string> rings;
};

/// Moves a few bytes between processes on every path. `library` is the driver's file. This process
/// must not have initialised the driver; its children initialise it. No child takes longer than
/// half a minute.
GpuPaths try_gpu_paths(const std::string& library);

}  // namespace dunnage::tool
