// MPI-IO: every call that reads or writes, with a view of the file and types in memory that are not
// contiguous. The file itself is written and read without MPI as well.
#include <dirent.h>

#include <fstream>

#include "surface.hpp"

namespace files_contract {

enum class Place { pointer, offset, shared, ordered };

std::string folder;  // made and removed by rank 0 alone

constexpr int kBlock = 3;           // numbers of one rank side by side in the file
constexpr MPI_Offset kBefore = 40;  // bytes before the view
constexpr int kRounds = 2;          // transfers through one open file

// What the ranks see of the file. With a pointer that they share all see the same: every second
// number.
struct View {
  bool together;
  int ranks = contract().ranks;

  Type type(int rank) const {
    using namespace make;
    return Type(together ? resized(0, 16, MPI_DOUBLE)
                         : subarray({ranks * kBlock}, {kBlock}, {rank * kBlock}, MPI_ORDER_C, MPI_DOUBLE));
  }
  // Where in the file the k-th number is that a rank sees.
  std::size_t at(int rank, int k) const {
    const int number = together ? 2 * k : k / kBlock * ranks * kBlock + rank * kBlock + k % kBlock;
    return kBefore + std::size_t(number) * 8;
  }
  Bytes seen(const Bytes& file, int rank, int first, int n) const {
    Bytes out;
    for (int k = first; k < first + n; ++k) {
      Bytes one(8, Buffer::kPoison);
      for (std::size_t i = 0; i < 8 && at(rank, k) + i < file.size(); ++i) one[i] = file[at(rank, k) + i];
      out += one;
    }
    return out;
  }
  void show(Bytes& file, int rank, int first, const Bytes& stream) const {
    for (std::size_t i = 0; i < stream.size(); ++i) {
      const std::size_t where = at(rank, first + int(i / 8)) + i % 8;
      if (where < file.size()) file[where] = stream[i];
    }
  }
};

Bytes file_content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(in), {});
}
void make_file(const std::string& path, const Bytes& content) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(content.data()), std::streamsize(content.size()));
}

void check_bytes(const Bytes& got, const Bytes& expected, const std::string& what) {
  const auto [g, e] = std::mismatch(got.begin(), got.end(), expected.begin(), expected.end());
  const bool same = g == got.end() && e == expected.end();
  check(same, what,
        same ? ""
             : "they differ at " + std::to_string(g - got.begin()) + ", " + std::to_string(got.size()) +
                   " bytes, expected " + std::to_string(expected.size()));
}

// One case: all ranks transfer `per` numbers in each round.
struct Transfer {
  std::string label;
  Place place;
  bool writes;
  int n;

  int me = contract().rank, ranks = contract().ranks, per = 2 * n;
  View view{place == Place::shared || place == Place::ordered};

  // Which number a rank's transfer begins at, where that is known.
  int first(int rank, int round) const {
    if (place == Place::offset) return (kRounds - 1 - round) * per + 6;
    if (view.together) return (round * ranks + rank) * per;
    return round * per;
  }
  std::size_t file_size() const {
    int last = 0;
    for (int round = 0; round < kRounds; ++round)
      for (int r = 0; r < ranks; ++r) last = std::max(last, int(view.at(r, first(r, round) + per)));
    return std::size_t(last) + 64;
  }
  Bytes stream(int rank, int round) const { return data(rank, -1, round, std::size_t(per) * 8); }

  // A round's stream is that of any rank, once each.
  void check_order(const std::vector<Bytes>& streams, const std::string& what) const {
    std::multiset<Bytes> got(streams.begin(), streams.end()), expected;
    for (int round = 0; round < kRounds; ++round)
      for (int r = 0; r < ranks; ++r) expected.insert(stream(r, round));
    check(got == expected, what);
  }

  using Go = FunctionRef<int(MPI_File, MPI_Offset, void* buffer, int count, MPI_Datatype, MPI_Status*)>;
  // `go` does one round.
  void run(Go go) const {
    contract().section(label);
    const std::string path = folder + "/file";
    // The file is there before, so that what is not to be written can be seen not to be.
    Bytes empty(file_size(), Buffer::kPoison), model = empty;
    for (int round = 0; round < kRounds; ++round)
      for (int r = 0; r < ranks; ++r) view.show(model, r, first(r, round), stream(r, round));
    if (me == 0) make_file(path, writes ? empty : model);
    PMPI_Barrier(MPI_COMM_WORLD);

    const Type memory_type = signatures()[0].type(me, n), file_type = view.type(me);
    Buffer memory(memory_type, 2);
    MPI_File file;
    if (!went(
            MPI_File_open(MPI_COMM_WORLD, path.c_str(), writes ? MPI_MODE_RDWR : MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
            label + ", open"))
      return;
    check_ok(MPI_File_set_view(file, kBefore, MPI_DOUBLE, file_type, "native", MPI_INFO_NULL), label + ", view");
    std::vector<Bytes> read;
    for (int round = 0; round < kRounds; ++round) {
      if (writes)
        memory.put(stream(me, round));
      else
        memory.poison();
      MPI_Status status;
      if (!went(go(file, first(me, round), memory.address(), 2, MPI_Datatype(memory_type), &status), label)) break;
      int count = -1;
      MPI_Get_count(&status, memory_type, &count);
      check_equal(count, 2, label + ", count in the status");
      if (writes || place != Place::shared) {
        memory.expect(stream(me, round), label + ", the memory");
      } else {
        const Bytes got = memory.packed();
        memory.expect(got, label + ", gaps of the memory");
        read.push_back(got);
      }
    }
    MPI_File_close(&file);
    if (!writes && place == Place::shared) gather_and_check(read);
    PMPI_Barrier(MPI_COMM_WORLD);
    if (me == 0 && writes) {
      const Bytes content = file_content(path);
      if (place == Place::shared) {
        std::vector<Bytes> streams;
        for (int i = 0; i < kRounds * ranks; ++i) streams.push_back(view.seen(content, 0, i * per, per));
        check_order(streams, label + ", the file");
        Bytes gaps = content;
        for (int i = 0; i < kRounds * ranks; ++i)
          view.show(gaps, 0, i * per, Bytes(std::size_t(per) * 8, Buffer::kPoison));
        check_bytes(gaps, empty, label + ", gaps of the file");
      } else {
        check_bytes(content, model, label + ", the file");
      }
    }
    if (me == 0) std::remove(path.c_str());
    PMPI_Barrier(MPI_COMM_WORLD);
  }

  void gather_and_check(std::vector<Bytes> read) const {
    Bytes mine;
    read.resize(kRounds, Bytes(std::size_t(per) * 8));
    for (const Bytes& b : read) mine += b;
    Bytes all(mine.size() * ranks);
    PMPI_Gather(mine.data(), int(mine.size()), MPI_BYTE, all.data(), int(mine.size()), MPI_BYTE, 0, MPI_COMM_WORLD);
    if (me != 0) return;
    std::vector<Bytes> streams;
    for (std::size_t at = 0; at < all.size(); at += std::size_t(per) * 8)
      streams.emplace_back(all.begin() + at, all.begin() + at + std::size_t(per) * 8);
    check_order(streams, label + ", what was read");
  }
};

// How a function is called: with a status, with a request, or in two halves.
enum class How { none, status, request, halves };
template <class F, class... Head>
constexpr How how() {
  if (F::template takes<Head..., void*, int, MPI_Datatype, MPI_Status*>) return How::status;
  if (F::template takes<Head..., void*, int, MPI_Datatype, MPI_Request*>) return How::request;
  return F::template takes<Head..., void*, int, MPI_Datatype> ? How::halves : How::none;
}

template <How kind, class F, class End, class... Head>
int transfer(const F& f, const End& end, void* buffer, int count, MPI_Datatype type, MPI_Status* status, MPI_File file,
             Head... offset) {
  if constexpr (kind == How::status) {
    return f(file, offset..., buffer, count, type, status);
  } else if constexpr (kind == How::request) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int rc = f(file, offset..., buffer, count, type, &request);
    return rc == MPI_SUCCESS ? MPI_Wait(&request, status) : rc;
  } else {
    const int rc = f(file, offset..., buffer, count, type);
    return rc == MPI_SUCCESS ? end(file, buffer, status) : rc;
  }
}

template <bool required, class F, class End>
void try_one(const F& f, Place place, bool writes, const End& end) {
  constexpr How plain = how<F, MPI_File>(), at = how<F, MPI_File, MPI_Offset>();
  static_assert(!required || plain != How::none || at != How::none);
  if (!is_wanted(f.name)) return;
  for (int n : brief() ? Ints{60} : Ints{3, 1500}) {
    const Transfer t{f.name + (", n " + std::to_string(n)), place, writes, n};
    if (avoided(t.label)) return;
    if constexpr (plain != How::none)
      t.run([&](MPI_File file, MPI_Offset, auto... rest) { return transfer<plain>(f, end, rest..., file); });
    else if constexpr (at != How::none)
      t.run(
          [&](MPI_File file, MPI_Offset offset, auto... rest) { return transfer<at>(f, end, rest..., file, offset); });
  }
}

// A call and, where mpi.h has it, its large-count form.
template <class Small, class Large, class End>
void both(const Small& small, const Large& large, Place place, bool writes, const End& end) {
  try_one<true>(small, place, writes, end);
  if (!brief()) try_one<kMpi4>(large, place, writes, end);
}

const auto no_end = [](auto...) { return MPI_SUCCESS; };
#define TRY(name, place, writes) both(FUNCTION(MPI_File_##name), FUNCTION(MPI_File_##name##_c), place, writes, no_end)
#define TRY_SPLIT(name, place, writes)                                                        \
  both(FUNCTION(MPI_File_##name##_begin), FUNCTION(MPI_File_##name##_begin_c), place, writes, \
       [](MPI_File file, void* buffer, MPI_Status* status) { return MPI_File_##name##_end(file, buffer, status); })

// An open file's pointer goes on where the last transfer ended, in the order of the calls of a
// rank.
void every_call() {
  TRY(write, Place::pointer, true);
  TRY(write_all, Place::pointer, true);
  TRY(iwrite, Place::pointer, true);
  TRY(iwrite_all, Place::pointer, true);
  TRY_SPLIT(write_all, Place::pointer, true);
  TRY(write_at, Place::offset, true);
  TRY(write_at_all, Place::offset, true);
  TRY(iwrite_at, Place::offset, true);
  TRY(iwrite_at_all, Place::offset, true);
  TRY_SPLIT(write_at_all, Place::offset, true);
  TRY(write_shared, Place::shared, true);
  TRY(iwrite_shared, Place::shared, true);
  TRY(write_ordered, Place::ordered, true);
  TRY_SPLIT(write_ordered, Place::ordered, true);
  TRY(read, Place::pointer, false);
  TRY(read_all, Place::pointer, false);
  TRY(iread, Place::pointer, false);
  TRY(iread_all, Place::pointer, false);
  TRY_SPLIT(read_all, Place::pointer, false);
  TRY(read_at, Place::offset, false);
  TRY(read_at_all, Place::offset, false);
  TRY(iread_at, Place::offset, false);
  TRY(iread_at_all, Place::offset, false);
  TRY_SPLIT(read_at_all, Place::offset, false);
  TRY(read_shared, Place::shared, false);
  TRY(iread_shared, Place::shared, false);
  TRY(read_ordered, Place::ordered, false);
  TRY_SPLIT(read_ordered, Place::ordered, false);
}

void make_folder() {
  char path[] = "/tmp/contract-files-XXXXXX";
  if (contract().rank == 0 && !mkdtemp(path)) std::abort();
  PMPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
  folder = path;
}

// With what an MPI left there, such as the file of a shared pointer.
void remove_folder() {
  PMPI_Barrier(MPI_COMM_WORLD);
  if (contract().rank != 0) return;
  if (DIR* all = opendir(folder.c_str())) {
    while (const dirent* entry = readdir(all)) std::remove((folder + "/" + entry->d_name).c_str());
    closedir(all);
  }
  std::remove(folder.c_str());
}

CONTRACT_PROGRAM(files) {
  Contract contract("files", &argc, &argv);
  wanted().insert(argv + 1, argv + argc);
  make_folder();
  every_call();
  remove_folder();
  say_called();
  return contract.finish();
}

}  // namespace files_contract
