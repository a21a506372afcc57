// What bench_triggered calls in the library that nvshmem.cu makes.
#pragma once

#include <cstddef>
#include <cstdint>

struct CUstream_st;

/// Messages there and back. Leg 0 goes from rank 0 to rank 1, leg 1 back.
struct NvshmemTrips {
  void* in;  // symmetric memory
  const void* out;
  std::uint64_t* flag;  // symmetric memory, which gets the number of the leg
  std::size_t bytes;
  std::uint64_t epoch;  // the number of a put or of a wait; of the leg before trips
  int other;            // the other rank
  int first;            // which legs this rank sends: 0 or 1
  int alone;            // 1: this rank sends all legs to itself
  int legs;
};

/// The symbol bench_nvshmem. Functions that return an int return 0 if all is well.
struct NvshmemLibrary {
  std::size_t (*id_size)();
  int (*make_id)(void* id);  // on one rank
  int (*start)(int rank, int ranks, const void* id);
  void (*end)();
  void* (*allocate)(std::size_t bytes);  // all ranks call it at a time
  void (*release)(void* memory);         // likewise
  int (*put)(const NvshmemTrips&, CUstream_st*);
  int (*wait)(const NvshmemTrips&, CUstream_st*);
  int (*launch_trips)(const NvshmemTrips&, CUstream_st*);  // one kernel, which does all legs
};
