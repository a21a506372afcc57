// Memory operations: a stream writes a word, or waits until a word has a value. Another process may
// write the word.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <type_traits>

#include "sim/api/call.hpp"
#include "sim/context.hpp"
#include "sim/memory.hpp"
#include "sim/place.hpp"
#include "sim/stream.hpp"
#include "sim/work.hpp"

namespace dunnage::sim {
namespace {

// The word, where the simulator reaches it. CUDA refuses managed memory and memory that it does not
// know.
template <class Word>
Word* word_at(CUdeviceptr address) {
  require(address % sizeof(Word) == 0, CUDA_ERROR_INVALID_VALUE);
  auto* const word = reinterpret_cast<Word*>(place_of(address, sizeof(Word), Must::be_known).bytes);
  require(find_allocation(address)->kind != Kind::managed, CUDA_ERROR_NOT_SUPPORTED);
  return word;
}

template <class Word>
bool holds(Word there, Word value, unsigned how) {
  switch (how) {
    case CU_STREAM_WAIT_VALUE_GEQ: return static_cast<std::make_signed_t<Word>>(there - value) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ: return there == value;
    case CU_STREAM_WAIT_VALUE_AND: return (there & value) != 0;
    default: return static_cast<Word>(~(there | value)) != 0;
  }
}

template <class Word>
std::function<void()> write(CUdeviceptr address, Word value, unsigned flags) {
  require((flags & ~unsigned{CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER}) == 0, CUDA_ERROR_INVALID_VALUE);
  return [word = word_at<Word>(address), value] { std::atomic_ref(*word).store(value, std::memory_order_release); };
}

// A wait ends early if the context dies, because the work behind it then does not run.
template <class Word>
std::function<void()> wait(const std::shared_ptr<Context>& context, CUdeviceptr address, Word value, unsigned flags) {
  const auto how = flags & ~unsigned{CU_STREAM_WAIT_VALUE_FLUSH};
  require(how <= CU_STREAM_WAIT_VALUE_NOR, CUDA_ERROR_INVALID_VALUE);
  return [word = word_at<Word>(address), value, how, weak = std::weak_ptr(context)] {
    const auto dead = [&] {
      const std::lock_guard hold(driver().lock);
      const auto alive = weak.lock();
      return !alive || alive->dead != CUDA_SUCCESS;
    };
    for (unsigned round = 0; !holds(std::atomic_ref(*word).load(std::memory_order_acquire), value, how); ++round) {
      if (round < 20) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
      if (round % 64 == 63 && dead()) return;
    }
  };
}

template <class Make>
CUresult one(const char* name, CUstream in, bool waits, Make make) {
  return call({name, Class::launch}, [&](Call& c) {
    const auto stream = stream_of(c.context, in);
    put(stream, make(stream->context.lock()), CUDA_SUCCESS, waits);
  });
}

bool waits(const CUstreamBatchMemOpParams& one) {
  return one.operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 || one.operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
}

std::function<void()> made_of(const CUstreamBatchMemOpParams& one, const std::shared_ptr<Context>& context) {
  switch (one.operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
      return wait<std::uint32_t>(context, one.waitValue.address, one.waitValue.value, one.waitValue.flags);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
      return wait<std::uint64_t>(context, one.waitValue.address, one.waitValue.value64, one.waitValue.flags);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
      return write<std::uint32_t>(one.writeValue.address, one.writeValue.value, one.writeValue.flags);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
      return write<std::uint64_t>(one.writeValue.address, one.writeValue.value64, one.writeValue.flags);
    case CU_STREAM_MEM_OP_BARRIER:
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
      // One thread does a stream's work in order, and a write is a release. ThreadSanitizer knows
      // no fences.
      return [] {};
  }
  throw Error{CUDA_ERROR_INVALID_VALUE};
}

}  // namespace
}  // namespace dunnage::sim

using namespace dunnage::sim;

CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, uint32_t value, unsigned flags) {
  return one("cuStreamWriteValue32", stream, false,
             [&](auto&&) { return write<std::uint32_t>(address, value, flags); });
}

CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address, uint64_t value, unsigned flags) {
  return one("cuStreamWriteValue64", stream, false,
             [&](auto&&) { return write<std::uint64_t>(address, value, flags); });
}

CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address, uint32_t value, unsigned flags) {
  return one("cuStreamWaitValue32", stream, true,
             [&](auto&& context) { return wait<std::uint32_t>(context, address, value, flags); });
}

CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr address, uint64_t value, unsigned flags) {
  return one("cuStreamWaitValue64", stream, true,
             [&](auto&& context) { return wait<std::uint64_t>(context, address, value, flags); });
}

// All operations are one piece of work, done in their order.
CUresult cuStreamBatchMemOp(CUstream in, unsigned count, CUstreamBatchMemOpParams* operations, unsigned flags) {
  return call({"cuStreamBatchMemOp", Class::launch}, [&](Call& c) {
    require(count > 0 && count <= 256 && flags == 0, CUDA_ERROR_INVALID_VALUE);
    given(operations);
    const auto stream = stream_of(c.context, in);
    const auto context = stream->context.lock();
    std::vector<std::function<void()>> all;
    for (unsigned i = 0; i < count; ++i) all.push_back(made_of(operations[i], context));
    const auto run = [all] {
      for (const auto& operation : all) operation();
    };
    put(stream, run, CUDA_SUCCESS, std::any_of(operations, operations + count, waits));
  });
}
