// Puts work into streams and waits for work. The threads of the streams run it.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "device/cuda_driver_api.h"
#include "sim/stream.hpp"

namespace dunnage::sim {

// Puts work into a stream. If the stream is captured, the work joins the capture instead, and the
// result is null. `waits`: for memory, so that its connection is held up meanwhile.
std::shared_ptr<Work> put(const std::shared_ptr<Stream>& stream, std::function<void()> run,
                          CUresult fault = CUDA_SUCCESS, bool waits = false);
// Makes all later work of a stream wait for work of another stream.
void put_wait(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Work>& work);

void wait_for(const std::shared_ptr<Work>& work, std::unique_lock<std::mutex>& lock);
void wait_for_all(const Context& context, std::unique_lock<std::mutex>& lock);  // for work that was put in before
// With DUNNAGE_SIM_BLOCKING=1: for the kernels that run now, but not for memory operations.
void wait_for_kernels(const std::shared_ptr<Context>& context, std::unique_lock<std::mutex>& lock);
void wait_until_idle(const Context& context, std::unique_lock<std::mutex>& lock);

// The unfinished work that must end before the stream is idle.
std::vector<std::shared_ptr<Work>> pending(const Stream& stream);

}  // namespace dunnage::sim
