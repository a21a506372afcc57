// A region's bytes in another memory.
#pragma once

#include "cuda_memory.hpp"
#include "samples.hpp"

struct Mirror {
  Mirror(Region& region, Kind kind) : r(region), memory(kind, region.bytes().size()) {}
  void* address() { return memory.data() + (static_cast<unsigned char*>(r.address) - r.bytes().data()); }
  /// What the region has now.
  void write() { memory.write(r.bytes().data()); }
  /// The region's bytes become what is here: it knows what to expect at its own addresses.
  void read_back() {
    const Bytes now = memory.read();
    std::copy(now.begin(), now.end(), r.bytes().begin());
  }
  Region& r;
  CudaMemory memory;
};

inline bool there(Kind kind) { return kind != Kind::other_device || devices().count > 1; }
