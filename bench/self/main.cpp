// Messages of a rank to itself: one MPI_Irecv, one MPI_Isend and MPI_Waitall, or one MPI_Sendrecv.
//
// Ways: `sendrecv` and `isend` as the program's MPI has them (with Dunnage if it is preloaded);
// `plain`, the MPI's own functions past a preloaded library, for host memory; and `limit`: for
// contiguous data one copy (memcpy, or the GPU's copy), for strided data a loop from layout to
// layout in host memory, and in device memory one MPI_Pack into device memory, which is one kernel
// if Dunnage is preloaded. The ways take turns. Every way's bytes are verified. Writes one JSON
// object per line. Exit status 0: done; 1: wrong bytes; 3: device memory was asked for and there is
// no GPU.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <iostream>
#include <optional>
#include <vector>

#include "common/command_line.hpp"
#include "common/cores.hpp"
#include "common/past.hpp"
#include "common/record.hpp"
#include "common/statistics.hpp"
#include "cuda_aware/gpu.hpp"
#include "cuda_aware/memory.hpp"

namespace {

using namespace bench;

struct Options {
  std::vector<std::int64_t> bytes{8, 1024, 16384, 65536, 262144, 1048576, 16777216, 67108864};
  std::vector<std::int64_t> blocks{0, 8, 64};  // bytes of a block; 0: contiguous
  std::string memory = "device";
  int rounds = 5, each = 20;
};

/// Data of so many bytes in blocks that are as far apart as they are long, in one memory.
class Layout {
 public:
  Layout(Where where, std::int64_t bytes, std::int64_t block)
      : bytes_(bytes),
        block_(block ? block : bytes),
        stride_(block ? 2 * block : bytes),
        image_(static_cast<std::size_t>(bytes_ / block_ * stride_)),
        memory_(where, image_.size()) {
    MPI_Type_vector(static_cast<int>(bytes_ / block_), static_cast<int>(block_), static_cast<int>(stride_), MPI_BYTE,
                    &type_);
    MPI_Type_commit(&type_);
  }
  ~Layout() { MPI_Type_free(&type_); }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;

  void* at() const { return memory_.place().at; }
  Place place() const { return memory_.place(); }
  MPI_Datatype type() const { return type_; }
  std::int64_t blocks() const { return bytes_ / block_; }
  std::int64_t block() const { return block_; }
  std::int64_t stride() const { return stride_; }
  void fill(unsigned salt) {
    for (std::size_t i = 0; i < image_.size(); ++i) image_[i] = byte_of(i, salt);
    put(memory_.place(), image_.data(), image_.size());
  }
  /// Whether the blocks hold what fill(salt) put there, and the gaps what fill(gaps) did.
  bool holds(unsigned salt, unsigned gaps) {
    get(image_.data(), memory_.place(), image_.size());
    for (std::size_t i = 0; i < image_.size(); ++i) {
      const bool in_block = static_cast<std::int64_t>(i) % stride_ < block_;
      if (image_[i] != byte_of(i, in_block ? salt : gaps)) return false;
    }
    return true;
  }

 private:
  static std::byte byte_of(std::size_t i, unsigned salt) {
    return static_cast<std::byte>((i * 2654435761u >> 8 ^ salt * 40503u) & 0xff);
  }
  const std::int64_t bytes_, block_, stride_;
  std::vector<std::byte> image_;
  Memory memory_;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

struct Way {
  std::string name;
  std::function<void()> call;
  bool moves;  // the bytes come to the receiver's layout
};

void copy_by_loop(const Layout& from, const Layout& to) {
  auto* source = static_cast<const char*>(from.at());
  auto* target = static_cast<char*>(to.at());
  for (std::int64_t i = 0; i < from.blocks(); ++i)
    std::memcpy(target + i * to.stride(), source + i * from.stride(), static_cast<std::size_t>(from.block()));
}

std::vector<Way> ways_of(const Layout& from, const Layout& to, const Memory& packed, bool device, bool contiguous,
                         std::int64_t bytes, const Stream* stream) {
  static const auto plain_irecv = BENCH_PAST(MPI_Irecv);
  static const auto plain_isend = BENCH_PAST(MPI_Isend);
  static const auto plain_waitall = BENCH_PAST(MPI_Waitall);
  const auto exchange = [&from, &to](auto irecv, auto isend, auto waitall) {
    MPI_Request requests[2];
    irecv(to.at(), 1, to.type(), 0, 1, MPI_COMM_SELF, requests);
    isend(from.at(), 1, from.type(), 0, 1, MPI_COMM_SELF, requests + 1);
    waitall(2, requests, MPI_STATUSES_IGNORE);
  };
  std::vector<Way> ways = {{"sendrecv",
                            [&] {
                              MPI_Sendrecv(from.at(), 1, from.type(), 0, 1, to.at(), 1, to.type(), 0, 1, MPI_COMM_SELF,
                                           MPI_STATUS_IGNORE);
                            },
                            true},
                           {"isend", [exchange] { exchange(MPI_Irecv, MPI_Isend, MPI_Waitall); }, true}};
  if (!device) ways.push_back({"plain", [exchange] { exchange(plain_irecv, plain_isend, plain_waitall); }, true});
  if (device && contiguous)
    ways.push_back({"limit",
                    [&from, &to, bytes, stream] {
                      BENCH_CU(cuMemcpyDtoDAsync, to.place().device(), from.place().device(),
                               static_cast<std::size_t>(bytes), stream->get());
                      stream->wait();
                    },
                    true});
  else if (device)
    ways.push_back({"limit",
                    [&from, &packed, bytes] {
                      int at = 0;
                      MPI_Pack(from.at(), 1, from.type(), packed.place().at, static_cast<int>(bytes), &at,
                               MPI_COMM_SELF);
                    },
                    false});
  else
    ways.push_back({"limit", [&from, &to] { copy_by_loop(from, to); }, true});
  return ways;
}

int run(const Options& options, const Gpu* gpu) {
  const bool device = gpu != nullptr;
  std::optional<Stream> stream;
  if (device) {
    gpu->make_current();
    stream.emplace();
  }
  print(header());
  unsigned salt = 0;
  bool right = true;
  for (const auto block : options.blocks)
    for (const auto bytes : options.bytes) {
      if (block > bytes) continue;
      const auto where = device ? Where::device : Where::host;
      Layout from(where, bytes, block), to(where, bytes, block);
      const Memory packed(where, static_cast<std::size_t>(bytes));
      const auto ways = ways_of(from, to, packed, device, block == 0, bytes, stream ? &*stream : nullptr);
      std::vector<std::vector<double>> seconds(ways.size());
      for (std::size_t w = 0; w < ways.size(); ++w) {
        if (!ways[w].moves) continue;
        from.fill(++salt);
        to.fill(salt + 1000);
        ways[w].call();
        if (to.holds(salt, salt + 1000)) continue;
        right = false;
        std::cerr << "bench_self: wrong bytes: " << ways[w].name << ", " << bytes << " bytes in blocks of " << block
                  << '\n';
      }
      const int each =
          static_cast<int>(std::max<std::int64_t>(3, std::min<std::int64_t>(options.each, (256 << 20) / bytes)));
      for (int round = 0; round < options.rounds; ++round)
        for (std::size_t w = 0; w < ways.size(); ++w)
          for (int i = 0; i < each + 2; ++i) {
            const auto start = std::chrono::steady_clock::now();
            ways[w].call();
            const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
            if (i >= 2) seconds[w].push_back(spent.count());
          }
      nlohmann::json line = {{"memory", options.memory}, {"bytes", bytes}, {"block", block}};
      for (std::size_t w = 0; w < ways.size(); ++w) {
        const auto s = summarize(seconds[w]);
        line[ways[w].name] = {{"median", s.median}, {"p10", s.p10}, {"p90", s.p90}};
      }
      print(line);
    }
  return right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CommandLine line("Messages of a rank to itself");
  line.numbers("--bytes", options.bytes, "packed sizes");
  line.numbers("--blocks", options.blocks, "bytes of a block; 0: contiguous");
  line.text("--memory", options.memory, "where the data are", {"device", "host"});
  line.number("--rounds", options.rounds, "turns of each way");
  line.number("--each", options.each, "messages in a turn");
  if (const auto status = line.read(argc, argv)) return *status;
  // The driver is loaded before MPI_Init, as programs that choose their GPU by the rank do.
  std::optional<Gpu> gpu;
  if (options.memory == "device") try {
      gpu.emplace(0);
    } catch (const NoDevice& e) {
      std::cerr << "bench_self: " << e.what() << '\n';
      return 3;
    }
  MPI_Init(&argc, &argv);
  const int status = run(options, gpu ? &*gpu : nullptr);
  MPI_Finalize();
  return status;
}
