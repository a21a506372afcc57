// What the programs about streams that start exchanges have in common.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>
#include <vector>

#include "cuda_memory.hpp"
#include "dunnage.h"

inline CUdeviceptr at(const void* address) { return reinterpret_cast<CUdeviceptr>(address); }

/// A layout of ints: the offset of each int, in ints.
struct Layout {
  std::vector<int> offsets;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int span = 0;
};

inline Layout layout_of(int kind, int n) {
  Layout made;
  std::vector<int> offsets;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  switch (kind) {
    case 0:  // contiguous
      for (int i = 0; i < n; ++i) offsets.push_back(i);
      MPI_Type_contiguous(n, MPI_INT, &type);
      break;
    case 1:  // blocks of 4
      for (int i = 0; i < n; ++i) offsets.push_back(i / 4 * 9 + i % 4);
      MPI_Type_vector(n / 4, 4, 9, MPI_INT, &type);
      break;
    case 2: {  // an irregular list
      std::mt19937 random(static_cast<unsigned>(n));
      for (int i = 0, place = 3; i < n; ++i, place += 1 + static_cast<int>(random() % 3)) offsets.push_back(place);
      MPI_Type_create_indexed_block(n, 1, offsets.data(), MPI_INT, &type);
      break;
    }
    case 3: {  // columns: a transpose
      const int rows = n / 8;
      MPI_Datatype column, resized, columns;
      for (int i = 0; i < n; ++i) offsets.push_back(i % rows * 8 + i / rows);
      MPI_Type_vector(rows, 1, 8, MPI_INT, &column);
      MPI_Type_create_resized(column, 0, sizeof(int), &resized);
      MPI_Type_contiguous(8, resized, &columns);
      MPI_Type_create_resized(columns, 0, n * static_cast<MPI_Aint>(sizeof(int)), &type);
      MPI_Type_free(&column);
      MPI_Type_free(&resized);
      MPI_Type_free(&columns);
      break;
    }
    default: {  // two vectors of different shapes
      const int half = n / 2, apart = half * 3 + 5;
      MPI_Datatype parts[2];
      MPI_Type_vector(half, 1, 3, MPI_INT, &parts[0]);
      MPI_Type_vector(half / 2, 2, 5, MPI_INT, &parts[1]);
      for (int i = 0; i < half; ++i) offsets.push_back(i * 3);
      for (int i = 0; i < half; ++i) offsets.push_back(apart + i / 2 * 5 + i % 2);
      const int lengths[] = {1, 1};
      const MPI_Aint places[] = {0, apart * static_cast<MPI_Aint>(sizeof(int))};
      MPI_Type_create_struct(2, lengths, places, parts, &type);
      for (auto& part : parts) MPI_Type_free(&part);
    }
  }
  MPI_Type_commit(&type);
  made.span = *std::max_element(offsets.begin(), offsets.end()) + 1;
  made.offsets = std::move(offsets);
  made.type = type;
  return made;
}

/// The exit code that tells of a stream that does not end within CONTRACT_PATIENCE milliseconds.
/// The launcher of MPICH adds the bits of the signals with which it ends other ranks, and this
/// number has those of all usual ones.
constexpr int stuck = 95;

struct Stream {
  Stream() {
    devices();
    cuda(cuStreamCreate(&handle, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    check_ok(DNG_Queue_create(handle, &queue), "DNG_Queue_create");
  }
  ~Stream() {
    check_ok(DNG_Queue_free(&queue), "DNG_Queue_free");
    check(queue == DNG_QUEUE_NULL, "DNG_Queue_free clears the handle");
    cuda(cuStreamDestroy(handle), "cuStreamDestroy");
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  void synchronize() { cuda(cuStreamSynchronize(handle), "cuStreamSynchronize"); }
  /// Waits, but not for ever.
  void must_end() const {
    using Clock = std::chrono::steady_clock;
    const char* text = std::getenv("CONTRACT_PATIENCE");
    const auto until = Clock::now() + std::chrono::milliseconds(text ? std::atoi(text) : 60000);
    while (cuStreamQuery(handle) == CUDA_ERROR_NOT_READY) {
      if (Clock::now() > until) MPI_Abort(MPI_COMM_WORLD, stuck);
      usleep(1000);
    }
  }
  CUstream handle{};
  DNG_Queue queue = DNG_QUEUE_NULL;
};

/// Page-locked host memory for all rounds of an exchange.
struct Pinned {
  explicit Pinned(std::size_t bytes) { cuda(cuMemAllocHost(&data, bytes), "cuMemAllocHost"); }
  ~Pinned() { cuMemFreeHost(data); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  int* ints() const { return static_cast<int*>(data); }
  void* data = nullptr;
};
