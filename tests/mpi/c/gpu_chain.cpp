// MPI_Bcast of large data in device memory, a GPU for each rank while there are enough: long enough
// that it is passed on from GPU to GPU. Every root; in some turns one rank's buffer is in host
// memory, or not contiguous, which nobody can read from, or one cannot map another's memory (on the
// simulated device). With an argument rank 1 has used another device before.
#include <dlfcn.h>

#include "cuda_memory.hpp"

namespace gpu_chain_contract {

using Word = std::uint32_t;
constexpr int words = (16 << 20) / 4 + 3;

Word word_of(unsigned turn, int i) { return turn * 2654435761u + static_cast<Word>(i); }

/// On the simulated device the next memory of another process cannot be mapped.
void fail_to_map() {
  using Fail = void (*)(const char*, int, int, int);
  if (auto* fail = reinterpret_cast<Fail>(dlsym(RTLD_DEFAULT, "dunnageSimFail")))
    fail("cuIpcOpenMemHandle", 0, CUDA_ERROR_UNKNOWN, 0);
}
void map_again() {
  if (auto* clear = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "dunnageSimFailClear"))) clear();
}

/// The buffer of one rank: `stride` words from one of the message to the next. `fails`: whether
/// this rank cannot map another's memory; then it may hear of an error.
void one(int root, unsigned turn, Kind kind, int stride, bool fails, const std::string& what) {
  contract().section(what);
  const auto size = static_cast<std::size_t>(words) * static_cast<std::size_t>(stride);
  std::vector<Word> before(size, 0xdeadbeef), expected = before;
  for (int i = 0; i < words; ++i)
    expected[static_cast<std::size_t>(i) * static_cast<std::size_t>(stride)] = word_of(turn, i);
  CudaMemory memory(kind, size * sizeof(Word));
  memory.write(contract().rank == root ? expected.data() : before.data());
  MPI_Datatype type = MPI_UNSIGNED;
  if (stride > 1) {
    MPI_Type_vector(words, 1, stride, MPI_UNSIGNED, &type);
    MPI_Type_commit(&type);
  }
  if (fails) fail_to_map();
  const int code = MPI_Bcast(memory.data(), stride > 1 ? 1 : words, type, root, MPI_COMM_WORLD);
  if (fails) map_again();
  if (!fails) check_ok(code, what);
  // What is read from this buffer by others must have been read.
  const auto bytes = memory.read();
  std::vector<Word> poison(size, turn);
  memory.write(poison.data());
  const bool right = std::memcmp(bytes.data(), expected.data(), size * sizeof(Word)) == 0;
  check(right || code != MPI_SUCCESS, what + ", wrong words");
  if (stride > 1) MPI_Type_free(&type);
}

/// Who expects less than is sent hears of it.
void too_little_room(int turn) {
  const bool less = contract().rank == 1;
  CudaMemory memory(Kind::device, words * sizeof(Word));
  const int code = MPI_Bcast(memory.data(), less ? words / 2 : words, MPI_UNSIGNED, 0, MPI_COMM_WORLD);
  check(error_class(code) == (less ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "too little room, turn " + std::to_string(turn));
}

CONTRACT_PROGRAM(chain) {
  Contract c("gpu_chain", &argc, &argv);
  devices();
  const auto use = [&](int device) {
    CUcontext context = nullptr;
    cuda(cuDevicePrimaryCtxRetain(&context, device % devices().count), "cuDevicePrimaryCtxRetain");
    cuda(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  };
  use(c.rank);
  if (argc > 1 && c.rank == 1) {
    CudaMemory here(Kind::device, 4096);
    check_ok(MPI_Sendrecv(here.data(), 64, MPI_BYTE, 1, 0, here.data() + 64, 64, MPI_BYTE, 1, 0, MPI_COMM_WORLD,
                          MPI_STATUS_IGNORE),
             "a message before");
    use(c.ranks);
  }
  unsigned turn = 0;
  for (int again = 0; again < 5; ++again)
    for (int root = 0; root < contract().ranks; ++root) {
      ++turn;
      const bool odd = int(turn) % contract().ranks == contract().rank && again > 1;
      const Kind kind = odd && again % 3 == 0 ? Kind::host : odd && again % 3 == 1 ? Kind::pool : Kind::device;
      const bool fails = again == 1 && root == 0 ? c.rank == 1 : again == 1 && root == 1 ? c.rank == 2 : false;
      one(root, turn, kind, odd && again % 3 == 2 ? 2 : 1, fails,
          "root " + std::to_string(root) + ", turn " + std::to_string(turn));
    }
  for (int i = 0; i < 2; ++i) too_little_room(i);
  return c.finish();
}

}  // namespace gpu_chain_contract
