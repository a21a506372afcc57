// Which ways between the GPUs of two processes work on this host, found out by trying them.
#pragma once

#include <string>
#include <vector>

namespace dunnage::tool {

struct GpuPaths {
    // Why a process' GPU cannot read what another process has on one; empty where it can. By the reader's GPU, then the owner's.
    std::vector<std::vector<std::string>> direct;
    // Why shared memory cannot be page-locked for a GPU; empty where it can.
    std::vector<std::string> rings;
};

/// Moves a few bytes from process to process in every way. `library`: the driver's file, which this process must not have initialised: its
/// children do. None of them takes longer than half a minute.
GpuPaths try_gpu_paths(const std::string& library);

}  // namespace dunnage::tool
