// A broadcast's data between the program's buffer and memory that ranks share, a range after the
// other.
#pragma once

#include <vector>

#include "memory/landing.hpp"
#include "mpi/process/process.hpp"
#include "pack/cpu/store_choice.hpp"

namespace dunnage::mpi {

/// The program's buffer as a memory::Buffer. Empty if a null pointer stands where the datatype has
/// no absolute addresses, or if something fails; `code` then tells what.
memory::Buffer broadcast_buffer(void* buffer, std::int64_t count, MPI_Datatype type, bool by_mpi, int& code);

/// Ranges of the data where they lie, packed. What goes wrong is told in `code`; after that nothing
/// is done.
class Reader {
 public:
  Reader(const memory::Landing& landing, std::int64_t bytes, int& code)
      : landing_(landing), bytes_(bytes), code_(code) {}
  /// Whether it could.
  bool operator()(char* to, std::int64_t begin, std::int64_t end);

 private:
  const memory::Landing& landing_;
  const std::int64_t bytes_;
  int& code_;
  std::vector<char> packed_;
};

/// Puts ranges of the data, in order, into the program's buffer. What goes wrong is told in `code`;
/// after that nothing is done. `bytes`: how many this rank expects. `stores`: how this rank puts
/// data of such a size in place.
class Placer {
 public:
  Placer(const memory::Landing& landing, std::int64_t bytes, pack::StoreChoice& stores, int& code);
  Placer(const Placer&) = delete;
  Placer& operator=(const Placer&) = delete;
  ~Placer();
  void operator()(const char* from, std::int64_t begin, std::int64_t end);
  /// After the last range.
  void finish();

 private:
  const memory::Landing& landing_;
  pack::StoreChoice& stores_;
  int& code_;
  const bool streams_;
  std::vector<char> packed_;
};

}  // namespace dunnage::mpi
