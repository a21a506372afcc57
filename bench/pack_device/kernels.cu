// The benchmark's own kernels: the blog post's pack kernel, probes of the memory, and kernels that
// fill and compare. They are compiled to a fatbin, which image.S puts into the program.
// Device::kernel() looks them up by their names.
#include "geometry.hpp"
#include "probe.hpp"

using bench::Geometry;
using bench::Rows;
using bench::touched;
using u8 = unsigned char;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

static __device__ u64 thread() { return u64(blockIdx.x) * blockDim.x + threadIdx.x; }
static __device__ u64 threads() { return u64(gridDim.x) * blockDim.x; }

extern "C" __global__ void empty() {}

// ---- The blog post "Improving MPI_Pack performance in CUDA-aware MPI", from its description

// Packs count1 groups of count0 blocks. A thread moves words of the row. X, Y and Z of the grid
// tile words, rows and planes.
template <class Word, bool packing>
static __device__ void document(u8* __restrict__ to, const u8* __restrict__ from, unsigned length, unsigned count0,
                                unsigned stride0, unsigned count1, unsigned stride1) {
  for (unsigned z = blockDim.z * blockIdx.z + threadIdx.z; z < count1; z += gridDim.z * blockDim.z)
    for (unsigned y = blockDim.y * blockIdx.y + threadIdx.y; y < count0; y += gridDim.y * blockDim.y)
      for (unsigned x = blockDim.x * blockIdx.x + threadIdx.x; x < length / sizeof(Word); x += gridDim.x * blockDim.x) {
        const unsigned packed = z * count0 * length + y * length + x * sizeof(Word);
        const unsigned user = z * stride1 + y * stride0 + x * sizeof(Word);
        *reinterpret_cast<Word*>(to + (packing ? packed : user)) =
            *reinterpret_cast<const Word*>(from + (packing ? user : packed));
      }
}

#define DOCUMENT(bytes, Word)                                                                                  \
  extern "C" __global__ void document_pack_##bytes(u8* to, const u8* from, unsigned length, unsigned count0,   \
                                                   unsigned stride0, unsigned count1, unsigned stride1) {      \
    document<Word, true>(to, from, length, count0, stride0, count1, stride1);                                  \
  }                                                                                                            \
  extern "C" __global__ void document_unpack_##bytes(u8* to, const u8* from, unsigned length, unsigned count0, \
                                                     unsigned stride0, unsigned count1, unsigned stride1) {    \
    document<Word, false>(to, from, length, count0, stride0, count1, stride1);                                 \
  }
DOCUMENT(1, u8)
DOCUMENT(2, unsigned short)
DOCUMENT(4, u32)
DOCUMENT(8, u64)

// ---- How fast the memory is

extern "C" __global__ void copy(uint4* __restrict__ to, const uint4* __restrict__ from, u64 words) {
  for (u64 i = thread(); i < words; i += 4 * threads()) {
    uint4 word[4];
#pragma unroll
    for (int k = 0; k < 4; ++k)
      if (i + k * threads() < words) word[k] = from[i + k * threads()];
#pragma unroll
    for (int k = 0; k < 4; ++k)
      if (i + k * threads() < words) to[i + k * threads()] = word[k];
  }
}

template <class Where>
static __device__ void read(const u8* user, const Where& where, u32 sectors, u32* sink) {
  u32 sum = 0;
  for (u64 i = thread(); i < sectors; i += 4 * threads()) {
    u32 word[4] = {};
#pragma unroll
    for (int k = 0; k < 4; ++k)
      if (i + k * threads() < sectors)
        word[k] = __ldcs(reinterpret_cast<const u32*>(user + touched(where, i + k * threads()).first / 4 * 4));
#pragma unroll
    for (int k = 0; k < 4; ++k) sum ^= word[k];
  }
  if (sum == 0x5bd1e995) *sink = sum;  // makes the compiler keep the loads
}

template <class Where>
static __device__ void write(u8* user, const Where& where, u32 sectors) {
  for (u64 i = thread(); i < sectors; i += threads()) {
    const bench::Touched one = touched(where, i);
    if (one.whole) {
      uint4* const to = reinterpret_cast<uint4*>(user + one.first);
      to[0] = to[1] = uint4{1, 2, 3, 4};
    } else {
      user[one.first] = 1;
    }
  }
}

extern "C" __global__ void read_rows(const u8* user, Rows rows, u32 sectors, u32* sink) {
  read(user, rows, sectors, sink);
}
extern "C" __global__ void read_list(const u8* user, const u32* list, u32 sectors, u32* sink) {
  read(user, list, sectors, sink);
}
extern "C" __global__ void write_rows(u8* user, Rows rows, u32 sectors) { write(user, rows, sectors); }
extern "C" __global__ void write_list(u8* user, const u32* list, u32 sectors) { write(user, list, sectors); }

// ---- Whether the bytes are right

// `bytes` must be aligned to 8.
extern "C" __global__ void fill(u8* bytes, u64 size, u64 seed) {
  for (u64 word = thread(); word < size / 8; word += threads())
    reinterpret_cast<u64*>(bytes)[word] = bench::pattern_word(word, seed);
  if (thread() < size % 8) bytes[size / 8 * 8 + thread()] = bench::pattern(size / 8 * 8 + thread(), seed);
}

// Counts how many of `size` bytes from `first` of `bytes` differ from what fill() wrote there.
extern "C" __global__ void differ(const u8* bytes, u64 first, u64 size, u64 seed, unsigned long long* count) {
  unsigned long long different = 0;
  for (u64 i = first + thread(); i < first + size; i += threads()) different += bytes[i] != bench::pattern(i, seed);
  if (different) atomicAdd(count, different);
}

// Counts how many of the packed bytes differ from those of a user's buffer filled with `seed`.
extern "C" __global__ void differ_packed(const u8* packed, Geometry geometry, u64 seed, unsigned long long* count) {
  unsigned long long different = 0;
  for (u64 i = thread(); i < bench::payload(geometry); i += threads())
    different += packed[i] != bench::pattern(bench::place(geometry, i), seed);
  if (different) atomicAdd(count, different);
}

// Counts how many of the layout's bytes in the user's buffer differ from those of a packed buffer
// filled with `seed`.
extern "C" __global__ void differ_user(const u8* user, Geometry geometry, u64 seed, unsigned long long* count) {
  unsigned long long different = 0;
  for (u64 i = thread(); i < bench::payload(geometry); i += threads())
    different += user[bench::place(geometry, i)] != bench::pattern(i, seed);
  if (different) atomicAdd(count, different);
}

// Writes again what fill() wrote to the layout's bytes. differ() of the whole buffer then finds
// what else was written.
extern "C" __global__ void restore(u8* user, Geometry geometry, u64 seed) {
  for (u64 i = thread(); i < bench::payload(geometry); i += threads()) {
    const u64 at = bench::place(geometry, i);
    user[at] = bench::pattern(at, seed);
  }
}
