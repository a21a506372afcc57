// What the ways of bench_triggered share: messages of a shape between two ranks, or of a rank to
// itself, and how a way is timed.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/cuda_driver.hpp"

namespace triggered {

extern int rank, ranks;
extern CUstream stream;
extern bool all_right;   // the bytes, so far
extern bool own_device;  // whether no other rank uses this rank's GPU

/// Ends the job if `code` is an error.
void ok(int code, const char* what);

/// Blocks of bytes at equal distances.
struct Shape {
  std::string name;
  int blocks, block, stride;  // bytes
  std::size_t span() const { return static_cast<std::size_t>(blocks) * static_cast<std::size_t>(stride); }
};

/// Messages there and back. Leg 0 goes from rank 0 to rank 1, leg 1 back. A rank alone sends both
/// to itself.
class Legs {
 public:
  /// `in`: the memory to receive in, which begins with 0 everywhere. 0: memory of its own.
  explicit Legs(const Shape& shape, CUdeviceptr in = 0);
  ~Legs();
  Legs(const Legs&) = delete;
  Legs& operator=(const Legs&) = delete;

  static bool sends(int leg) { return ranks == 1 || rank == leg; }
  static bool receives(int leg) { return ranks == 1 || rank != leg; }
  /// This rank's persistent requests of a leg.
  std::vector<MPI_Request> requests(int leg) const;
  /// The buffers, a datatype of a whole message, and the other rank.
  void* out() const { return reinterpret_cast<void*>(out_); }
  void* in() const { return reinterpret_cast<void*>(in_); }
  MPI_Datatype type() const { return type_; }
  /// A flag of 8 bytes behind in(), which begins with 0.
  std::uint64_t* flag() const { return reinterpret_cast<std::uint64_t*>(in_ + flag_offset()); }
  std::size_t flag_offset() const { return flag_offset(shape_); }
  /// The size of in() with the flag.
  static std::size_t bytes_of_in(const Shape& shape) { return flag_offset(shape) + sizeof(std::uint64_t); }
  static int other() { return ranks > 1 ? 1 - rank : 0; }

  const Shape& shape() const { return shape_; }
  void poison() const;
  bool right() const;

 private:
  static std::size_t flag_offset(const Shape& shape) { return (shape.span() + 127) / 128 * 128; }
  const Shape shape_;
  const bool owns_in_;
  CUdeviceptr out_ = 0, in_ = 0;
  std::vector<unsigned char> expected_;  // in in()
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// Times `run`, which does `legs_each` legs and waits for their end, and prints a leg's time: where
/// the GPU does nothing else, and then beside a kernel that fills it, if each rank has its own.
void measure(const Legs& legs, const std::string& name, const char* why, int rounds, int legs_each,
             const std::function<void()>& run);

/// Prints why a way is not measured.
void skip(const std::string& way, const std::string& why);

}  // namespace triggered
