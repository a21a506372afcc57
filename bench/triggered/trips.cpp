#include "trips.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "common/record.hpp"
#include "filler.hpp"

namespace triggered {

using namespace bench;

int rank, ranks;
CUstream stream;
bool all_right = true, own_device = true;

void skip(const std::string& way, const std::string& why) {
  if (rank == 0) print({{"record", "skipped"}, {"way", way}, {"why", why}});
}

void ok(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  std::fprintf(stderr, "rank %d: %s: %s\n", rank, what, text);
  MPI_Abort(MPI_COMM_WORLD, 2);
}

namespace {
unsigned char byte_of(std::size_t i, int from) { return static_cast<unsigned char>(i * 37 + i / 251 + 1 + from * 101); }
}  // namespace

Legs::Legs(const Shape& shape, CUdeviceptr in) : shape_(shape), owns_in_(in == 0), in_(in) {
  BENCH_CU(cuMemAlloc, &out_, shape.span());
  // Whole large pages, so that another rank can map it without what else the driver puts there.
  constexpr std::size_t page = 2 << 20;
  if (owns_in_) BENCH_CU(cuMemAlloc, &in_, (bytes_of_in(shape) + page - 1) / page * page);
  BENCH_CU(cuMemsetD8, in_ + flag_offset(), 0, sizeof(std::uint64_t));
  std::vector<unsigned char> bytes(shape.span());
  expected_.resize(shape.span());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = byte_of(i, rank);
    const bool comes = static_cast<int>(i % static_cast<std::size_t>(shape.stride)) < shape.block;
    expected_[i] = comes ? byte_of(i, other()) : 0;
  }
  upload(out_, bytes.data(), bytes.size());
  poison();
  MPI_Type_vector(shape.blocks, shape.block, shape.stride, MPI_BYTE, &type_);
  MPI_Type_commit(&type_);
}

Legs::~Legs() {
  MPI_Type_free(&type_);
  driver().cuMemFree(out_);
  if (owns_in_) driver().cuMemFree(in_);
}

std::vector<MPI_Request> Legs::requests(int leg) const {
  std::vector<MPI_Request> all;
  if (receives(leg)) MPI_Recv_init(in(), 1, type_, other(), leg, MPI_COMM_WORLD, &all.emplace_back());
  if (sends(leg)) MPI_Send_init(out(), 1, type_, other(), leg, MPI_COMM_WORLD, &all.emplace_back());
  return all;
}

void Legs::poison() const {
  BENCH_CU(cuMemsetD8, in_, 0, shape_.span());
  BENCH_CU(cuCtxSynchronize);
}

bool Legs::right() const {
  std::vector<unsigned char> bytes(shape_.span());
  BENCH_CU(cuCtxSynchronize);
  BENCH_CU(cuMemcpyDtoH, bytes.data(), in_, bytes.size());
  return bytes == expected_;
}

namespace {

/// Microseconds of a leg, in each round.
std::vector<double> times_of(int rounds, int legs_each, const std::function<void()>& run, const Filler* filler) {
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    if (filler) filler->begin();
    MPI_Barrier(MPI_COMM_WORLD);
    const auto begin = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
    if (!filler || filler->runs()) times.push_back(time.count() / legs_each);
  }
  if (filler) filler->end();
  std::sort(times.begin(), times.end());
  return times;
}

}  // namespace

void measure(const Legs& legs, const std::string& name, const char* why, int rounds, int legs_each,
             const std::function<void()>& run) {
  legs.poison();
  MPI_Barrier(MPI_COMM_WORLD);
  run();
  bool so_far = legs.right();
  const auto print = [&](const std::string& way, const std::vector<double>& times) {
    int right = so_far && legs.right(), everywhere = 0;
    MPI_Allreduce(&right, &everywhere, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    so_far = all_right = all_right && everywhere;
    if (rank != 0) return;
    if (times.empty()) return skip(way, "longer than the kernel beside it");
    std::printf(
        "{\"record\":\"result\",\"ranks\":%d,\"shape\":\"%s\",\"way\":\"%s\",\"microseconds\":%.2f,\"least\":%.2f,"
        "\"most\":%.2f,\"verified\":%s,\"why\":\"%s\"}\n",
        ranks, legs.shape().name.c_str(), way.c_str(), times[times.size() / 2], times.front(), times.back(),
        everywhere ? "true" : "false", why);
    std::fflush(stdout);
  };
  print(name, times_of(rounds, legs_each, run, nullptr));
  if (const auto* const filler = own_device ? Filler::get() : nullptr)
    print(name + ", GPU filled", times_of(rounds / 4 + 1, legs_each, run, filler));
}

}  // namespace triggered
