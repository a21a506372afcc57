// MPI_Bcast of large data in device memory, a GPU for each rank while there are enough: long enough that it is passed on from GPU to GPU. Every root; in some turns one rank's buffer is in host memory,
// or not contiguous, which nobody can read from.
#include "cuda_memory.hpp"

namespace {

using Word = std::uint32_t;
constexpr int words = (16 << 20) / 4 + 3;

Word word_of(unsigned turn, int i) { return turn * 2654435761u + static_cast<Word>(i); }

/// The buffer of one rank: `stride` words from one of the message to the next.
void one(int root, unsigned turn, Kind kind, int stride, const std::string& what) {
  contract().section(what);
  const auto size = static_cast<std::size_t>(words) * static_cast<std::size_t>(stride);
  std::vector<Word> values(size, 0xdeadbeef);
  if (contract().rank == root)
    for (int i = 0; i < words; ++i) values[static_cast<std::size_t>(i) * static_cast<std::size_t>(stride)] = word_of(turn, i);
  CudaMemory memory(kind, size * sizeof(Word));
  memory.write(values.data());
  MPI_Datatype type = MPI_UNSIGNED;
  if (stride > 1) {
    MPI_Type_vector(words, 1, stride, MPI_UNSIGNED, &type);
    MPI_Type_commit(&type);
  }
  check_ok(MPI_Bcast(memory.data(), stride > 1 ? 1 : words, type, root, MPI_COMM_WORLD), what);
  // What is read from this buffer by others must have been read.
  const auto bytes = memory.read();
  std::vector<Word> poison(size, turn);
  memory.write(poison.data());
  std::memcpy(values.data(), bytes.data(), bytes.size());
  int wrong = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const auto expected = i % static_cast<std::size_t>(stride) == 0 ? word_of(turn, static_cast<int>(i) / stride) : 0xdeadbeef;
    wrong += values[i] != expected;
  }
  check(wrong == 0, what + ", " + std::to_string(wrong) + " wrong words");
  if (stride > 1) MPI_Type_free(&type);
}

}  // namespace

int main(int argc, char** argv) {
  Contract c("gpu_chain", &argc, &argv);
  devices();
  CUcontext mine = nullptr;
  cuda(cuDevicePrimaryCtxRetain(&mine, contract().rank % devices().count), "cuDevicePrimaryCtxRetain");
  cuda(cuCtxSetCurrent(mine), "cuCtxSetCurrent");
  unsigned turn = 0;
  for (int again = 0; again < 6; ++again)
    for (int root = 0; root < contract().ranks; ++root) {
      ++turn;
      const bool odd = int(turn) % contract().ranks == contract().rank && again > 1;
      const Kind kind = odd && again % 3 == 0 ? Kind::host : odd && again % 3 == 1 ? Kind::pool : Kind::device;
      one(root, turn, kind, odd && again % 3 == 2 ? 2 : 1, "root " + std::to_string(root) + ", turn " + std::to_string(turn));
    }
  return c.finish();
}
