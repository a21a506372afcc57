#include "cuda_aware/memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace bench {

void put(Place to, const std::byte* from, std::size_t bytes) {
  if (to.where == Where::device)
    upload(to.device(), from, bytes);
  else
    std::memcpy(to.at, from, bytes);
}

void get(std::byte* to, Place from, std::size_t bytes) {
  if (from.where == Where::device)
    BENCH_CU(cuMemcpyDtoH, to, from.device(), bytes);
  else
    std::memcpy(to, from.at, bytes);
}

void set(Place to, unsigned char value, std::size_t bytes) {
  if (to.where == Where::host) {
    std::memset(to.at, value, bytes);
    return;
  }
  BENCH_CU(cuMemsetD8, to.device(), value, bytes);
  BENCH_CU(cuCtxSynchronize);  // other streams would overtake the memset
}

Memory::Memory(Where where, std::size_t bytes) : bytes_(std::max<std::size_t>(bytes, 1)) {
  place_.where = where;
  if (where == Where::device) {
    CUdeviceptr address = 0;
    BENCH_CU(cuMemAlloc, &address, bytes_);
    place_.at = reinterpret_cast<std::byte*>(address);
    return;
  }
  constexpr std::size_t page = 4096;
  bytes_ = (bytes_ + page - 1) / page * page;
  place_.at = static_cast<std::byte*>(std::aligned_alloc(page, bytes_));
  if (!place_.at) throw std::bad_alloc();
  std::memset(place_.at, 0, bytes_);
}

Memory::~Memory() {
  if (!place_.at) return;
  if (place_.where == Where::device)
    driver().cuMemFree(place_.device());
  else
    std::free(place_.at);
}

}  // namespace bench
