/* A mesh in many boxes, as AMReX has it. Each rank has some of the boxes. Each box has ghost cells
   around it and several components.

   Before each step, FillBoundary fills all ghost cells from the boxes around, also over the periodic
   boundaries and in one rank. There is one message for each pair of ranks. Every few steps, the
   boxes move to other ranks ("regrid").

   No message is packed by hand. A datatype with absolute addresses has one subarray for each region.

   Each step reads every ghost cell. In the end, each rank compares its cells with the results for
   one box that is the whole mesh. `amr_fill_boundary --help` lists the options.

       mpicxx -O2 examples/c/amr_fill_boundary.cpp -o amr_fill_boundary -ldl
       dunnage run --report -- mpirun -n 4 ./amr_fill_boundary --mesh 64,64,64 */
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "application.h"

namespace {

using Cells = std::array<int, 3>;  // x, y and z; x is contiguous in memory

int rank, ranks;
int components = 2, ghosts = 2;
Cells mesh{32, 32, 32};

struct Box {
  Cells first, size;
};

/// A box with its cells. The MPI gets `given`: device memory, or the host's cells themselves.
class Patch {
 public:
  /// `memory`: where the cells are on the device, or nullptr for the host.
  Patch(const Box& own, void* memory) : box(own), on_device(memory) {
    for (int d = 0; d < 3; ++d) side[d] = box.size[d] + 2 * ghosts;
    cells.resize(length(box));
    given = on_device ? memory : cells.data();
  }
  Patch(const Patch&) = delete;

  /// Cells of a patch, with ghost cells and all components.
  static size_t length(const Box& box) {
    size_t cells = components;
    for (int d = 0; d < 3; ++d) cells *= box.size[d] + 2 * ghosts;
    return cells;
  }

  /// A cell by its place in the mesh.
  size_t index(int component, int x, int y, int z) const {
    const size_t row = (static_cast<size_t>(component) * side[2] + (z - box.first[2] + ghosts)) * side[1];
    return (row + (y - box.first[1] + ghosts)) * side[0] + (x - box.first[0] + ghosts);
  }

  /// A part of the patch in all components: a datatype, and where it begins.
  std::pair<MPI_Datatype, MPI_Aint> part(const Box& region) const {
    int sizes[4] = {components, side[2], side[1], side[0]}, parts[4] = {components}, starts[4] = {0};
    for (int d = 0; d < 3; ++d) {
      parts[3 - d] = region.size[d];
      starts[3 - d] = region.first[d] - box.first[d] + ghosts;
    }
    MPI_Datatype type;
    MPI_Aint address;
    MPI_Type_create_subarray(4, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
    MPI_Get_address(given, &address);
    return {type, address};
  }

  /// A real program computes on the GPU. This one copies to the host and computes there, so that it
  /// needs no kernels.
  void to_mpi() {
    if (on_device) device_upload(given, cells.data(), bytes());
  }
  void from_mpi() {
    if (on_device) device_download(cells.data(), given, bytes());
  }

  const Box box;
  const bool on_device;
  Cells side{};  ///< with ghost cells
  std::vector<double> cells;
  void* given;

 private:
  size_t bytes() const { return length(box) * sizeof(double); }
};

/// Calls function(component, x, y, z) for each cell of the patch itself, or also for ghost cells.
template <class Function>
void for_each_cell(const Patch& patch, int with_ghosts, Function function) {
  Cells first, end;
  for (int d = 0; d < 3; ++d) {
    first[d] = patch.box.first[d] - with_ghosts;
    end[d] = patch.box.first[d] + patch.box.size[d] + with_ghosts;
  }
  for (int c = 0; c < components; ++c)
    for (int z = first[2]; z < end[2]; ++z)
      for (int y = first[1]; y < end[1]; ++y)
        for (int x = first[0]; x < end[0]; ++x) function(c, x, y, z);
}

// --- the work on a patch ---

void fill(Patch& patch) {
  for_each_cell(patch, 0, [&](int c, int x, int y, int z) {
    patch.cells[patch.index(c, x, y, z)] = (x * (x + 3 * y + 7) + y * (y + 5 * z + 11) + z * (z + 13) + 17 * c) % 251;
  });
}

/// Each cell becomes a weighted mean of all cells that are at most `ghosts` away in each dimension.
void advance(Patch& patch) {
  const auto old = patch.cells;
  const int width = 2 * ghosts + 1;
  const double share = 1.0 / ((ghosts + 1) * width * width * width);
  for_each_cell(patch, 0, [&](int c, int x, int y, int z) {
    double sum = 0;
    for (int k = z - ghosts; k <= z + ghosts; ++k)
      for (int j = y - ghosts; j <= y + ghosts; ++j) {
        const double* const row = &old[patch.index(c, x - ghosts, j, k)];
        for (int i = 0; i < width; ++i) sum += (i + 1) * row[i];
      }
    patch.cells[patch.index(c, x, y, z)] = share * sum;
  });
}

// --- boxes and their owners ---

/// The bits of x, y and z in turn. Boxes with close numbers are close in space.
uint64_t on_curve(const Cells& at) {
  uint64_t number = 0;
  for (int bit = 0; bit < 16; ++bit)
    for (int d = 0; d < 3; ++d) number |= static_cast<uint64_t>(at[d] >> bit & 1) << (3 * bit + d);
  return number;
}

/// The mesh, cut into boxes with at most `most` cells along each edge, in the order of the curve.
std::vector<Box> cut(int most) {
  std::vector<std::pair<uint64_t, Box>> boxes;
  for (int z = 0; z < mesh[2]; z += most)
    for (int y = 0; y < mesh[1]; y += most)
      for (int x = 0; x < mesh[0]; x += most)
        boxes.push_back(
            {on_curve({x / most, y / most, z / most}),
             {{x, y, z}, {std::min(most, mesh[0] - x), std::min(most, mesh[1] - y), std::min(most, mesh[2] - z)}}});
  std::sort(boxes.begin(), boxes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Box> sorted;
  for (const auto& box : boxes) sorted.push_back(box.second);
  return sorted;
}

/// The rank of each box. Another `turn` gives other owners.
std::vector<int> owners(int boxes, bool in_turns, int turn) {
  std::vector<int> owner(boxes);
  for (int i = 0; i < boxes; ++i) {
    const int place = (i + turn * (boxes / 3 + 1)) % boxes;
    owner[i] = in_turns ? place % ranks : static_cast<int>(static_cast<long>(place) * ranks / boxes);
  }
  return owner;
}

// --- messages ---

/// The regions of one message. All ranks know all boxes, so sender and receiver list the regions in
/// one order.
struct Regions {
  std::vector<MPI_Datatype> types;
  std::vector<MPI_Aint> addresses;

  void add(std::pair<MPI_Datatype, MPI_Aint> part) {
    types.push_back(part.first);
    addresses.push_back(part.second);
  }

  /// One datatype for all regions, relative to MPI_BOTTOM.
  MPI_Datatype joined() {
    const std::vector<int> ones(types.size(), 1);
    MPI_Datatype type;
    MPI_Type_create_struct(static_cast<int>(types.size()), ones.data(), addresses.data(), types.data(), &type);
    MPI_Type_commit(&type);
    for (auto& part : types) MPI_Type_free(&part);
    return type;
  }
};

class Mesh {
 public:
  /// `arena`: each rank's boxes are in one allocation of device memory, as AMReX has them.
  Mesh(const std::vector<Box>& all, std::vector<int> first_owners, bool device, bool arena)
      : boxes(all), owner(std::move(first_owners)), on_device(device), in_arena(arena) {
    make_patches(owner, patches, memory);
    for (auto& [number, patch] : patches) {
      fill(patch);
      patch.to_mpi();
    }
    plan();
  }
  ~Mesh() { forget(); }
  Mesh(const Mesh&) = delete;

  void fill_boundary() {
    std::vector<MPI_Request> requests;
    for (const auto& [peer, type] : receives)
      MPI_Irecv(MPI_BOTTOM, 1, type, peer, 0, MPI_COMM_WORLD, &requests.emplace_back());
    for (const auto& [peer, type] : sends)
      MPI_Isend(MPI_BOTTOM, 1, type, peer, 0, MPI_COMM_WORLD, &requests.emplace_back());
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  }

  void step() {
    for (auto& [number, patch] : patches) {
      patch.from_mpi();
      advance(patch);
      patch.to_mpi();
    }
  }

  /// Gives the boxes to other ranks.
  void regrid(const std::vector<int>& next) {
    std::map<int, Patch> arrived;
    std::vector<void*> next_memory;
    make_patches(next, arrived, next_memory);
    std::map<int, Regions> out, in;
    for (int i = 0; i < static_cast<int>(boxes.size()); ++i) {
      if (owner[i] == rank) out[next[i]].add(patches.at(i).part(boxes[i]));
      if (next[i] == rank) in[owner[i]].add(arrived.at(i).part(boxes[i]));
    }
    std::vector<int> sent(ranks, 0), received(ranks, 0), zeros(ranks, 0);
    std::vector<MPI_Datatype> sent_types(ranks, MPI_BYTE), received_types(ranks, MPI_BYTE);
    for (auto& [peer, regions] : out) sent[peer] = 1, sent_types[peer] = regions.joined();
    for (auto& [peer, regions] : in) received[peer] = 1, received_types[peer] = regions.joined();
    MPI_Alltoallw(MPI_BOTTOM, sent.data(), zeros.data(), sent_types.data(), MPI_BOTTOM, received.data(), zeros.data(),
                  received_types.data(), MPI_COMM_WORLD);
    for (int peer = 0; peer < ranks; ++peer) {
      if (sent[peer]) MPI_Type_free(&sent_types[peer]);
      if (received[peer]) MPI_Type_free(&received_types[peer]);
    }
    forget();
    patches.swap(arrived);
    memory.swap(next_memory);
    owner = next;
    plan();
  }

  std::map<int, Patch>& own_patches() { return patches; }

 private:
  /// Finds what each pair of ranks exchanges: where a box with its ghost cells overlaps other boxes
  /// or periodic images of boxes.
  void plan() {
    std::map<int, Regions> out, in;
    const int count = static_cast<int>(boxes.size());
    for (int to = 0; to < count; ++to)
      for (int from = 0; from < count; ++from)
        for (int image = 0; image < 27; ++image) {
          const Cells shift{mesh[0] * (image % 3 - 1), mesh[1] * (image / 3 % 3 - 1), mesh[2] * (image / 9 - 1)};
          if ((owner[to] != rank && owner[from] != rank) || (to == from && image == 13)) continue;
          Box ghost{}, source{};
          bool empty = false;
          for (int d = 0; d < 3; ++d) {
            const int begin = std::max(boxes[to].first[d] - ghosts, boxes[from].first[d] + shift[d]);
            const int end = std::min(boxes[to].first[d] + boxes[to].size[d] + ghosts,
                                     boxes[from].first[d] + boxes[from].size[d] + shift[d]);
            empty = empty || begin >= end;
            ghost.first[d] = begin;
            source.first[d] = begin - shift[d];
            ghost.size[d] = source.size[d] = end - begin;
          }
          if (empty) continue;
          if (owner[to] == rank) in[owner[from]].add(patches.at(to).part(ghost));
          if (owner[from] == rank) out[owner[to]].add(patches.at(from).part(source));
        }
    for (auto& [peer, regions] : out) sends[peer] = regions.joined();
    for (auto& [peer, regions] : in) receives[peer] = regions.joined();
  }

  void make_patches(const std::vector<int>& of, std::map<int, Patch>& made, std::vector<void*>& allocated) const {
    const auto bytes = [&](int i) { return Patch::length(boxes[i]) * sizeof(double); };
    size_t total = 0, used = 0;
    for (int i = 0; i < static_cast<int>(boxes.size()); ++i) total += of[i] == rank ? bytes(i) : 0;
    if (on_device && in_arena) allocated.push_back(device_allocate(total));
    for (int i = 0; i < static_cast<int>(boxes.size()); ++i) {
      if (of[i] != rank) continue;
      if (on_device && !in_arena) allocated.push_back(device_allocate(bytes(i)));
      void* const place = !on_device ? nullptr : in_arena ? static_cast<char*>(allocated[0]) + used : allocated.back();
      made.try_emplace(i, boxes[i], place);
      used += bytes(i);
    }
  }

  /// Frees what is for these owners of the boxes only.
  void forget() {
    for (void* const one : memory) device_free(one);
    memory.clear();
    for (auto* const types : {&sends, &receives}) {
      for (auto& [peer, type] : *types) MPI_Type_free(&type);
      types->clear();
    }
  }

  const std::vector<Box>& boxes;
  std::vector<int> owner;
  const bool on_device, in_arena;
  std::vector<void*> memory;                    // of the device
  std::map<int, Patch> patches;                 // by the number of the box
  std::map<int, MPI_Datatype> sends, receives;  // by rank
};

// --- the results ---

/// Takes a box that is the whole mesh through all steps. It needs no messages.
void compute_alone(Patch& whole, int steps) {
  fill(whole);
  for (int step = 0; step < steps; ++step) {
    for_each_cell(whole, ghosts, [&](int c, int x, int y, int z) {
      whole.cells[whole.index(c, x, y, z)] =
          whole.cells[whole.index(c, (x + mesh[0]) % mesh[0], (y + mesh[1]) % mesh[1], (z + mesh[2]) % mesh[2])];
    });
    advance(whole);
  }
}

/// The sum over all cells of a number for each cell: of its place and every bit of its value.
uint64_t checksum(const Patch& patch) {
  uint64_t sum = 0;
  for_each_cell(patch, 0, [&](int c, int x, int y, int z) {
    uint64_t bits;
    memcpy(&bits, &patch.cells[patch.index(c, x, y, z)], sizeof bits);
    bits += ((static_cast<uint64_t>(c) * mesh[2] + z) * mesh[1] + y) * mesh[0] + x;
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9u;
    sum += (bits ^ bits >> 27) * 0x94D049BB133111EBu;
  });
  return sum;
}

/// Returns how many cells are wrong, and prints the first one.
long wrong_cells(const Patch& patch, const Patch& expected) {
  long wrong = 0;
  for_each_cell(patch, 0, [&](int c, int x, int y, int z) {
    const double value = patch.cells[patch.index(c, x, y, z)], right = expected.cells[expected.index(c, x, y, z)];
    if (value != right && ++wrong == 1)
      fprintf(stderr, "amr_fill_boundary: rank %d, component %d, cell %d,%d,%d: %.17g, not %.17g\n", rank, c, x, y, z,
              value, right);
  });
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  int box = 8, steps = 8, every = 3, in_turns = 0, memory = 0, apart = 0, no_check = 0;
  const option options[] = {
      {"--mesh", "cells of the whole mesh", mesh.data(), 3, 1, nullptr},
      {"--box", "the most cells along an edge of a box", &box, 1, 1, nullptr},
      {"--components", "values in each cell", &components, 1, 1, nullptr},
      {"--ghosts", "ghost cells on each side of a box", &ghosts, 1, 1, nullptr},
      {"--steps", "time steps", &steps, 1, 1, nullptr},
      {"--every", "steps after which boxes move to other ranks", &every, 1, 1, nullptr},
      {"--owners", "which rank has a box: parts of a space-filling curve, or ranks in turns", &in_turns, 1, 0,
       "curve|turns"},
      {"--memory", "memory of the cells", &memory, 1, 0, "host|device"},
      {"--arena", "device memory of a rank's boxes in one allocation", &apart, 1, 0, "yes|no"},
      {"--check", "compare with one box that is the whole mesh", &no_check, 1, 0, "yes|no"},
  };
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  read_options("amr_fill_boundary", argc, argv, options, sizeof options / sizeof *options);
  for (int d = 0; d < 3; ++d)
    if (ghosts > mesh[d])
      end_with(2, "amr_fill_boundary: %d ghost cells are more than the %d cells of an edge\n", ghosts, mesh[d]);
  if (memory) open_device();
  if (memory && !mpi_takes_device_memory())
    end_with(3, "amr_fill_boundary: this MPI says that it takes no device memory; try `dunnage run`\n");
  const auto boxes = cut(box);
  const int count = static_cast<int>(boxes.size());
  if (rank == 0)
    printf("amr_fill_boundary: %dx%dx%d cells in %d boxes, in %s memory\n", mesh[0], mesh[1], mesh[2], count,
           memory ? "device" : "host");

  uint64_t sum = 0;
  long wrong = 0;
  double seconds = 0;
  {
    Mesh all(boxes, owners(count, in_turns, 0), memory, !apart);
    for (int step = 0; step < steps; ++step) {
      if (step > 0 && step % every == 0) all.regrid(owners(count, in_turns, step / every));
      const double start = MPI_Wtime();
      all.fill_boundary();
      seconds += MPI_Wtime() - start;
      all.step();
    }
    Patch whole({{0, 0, 0}, mesh}, nullptr);
    if (!no_check) compute_alone(whole, steps);
    for (auto& [number, patch] : all.own_patches()) {
      sum += checksum(patch);
      if (!no_check) wrong += wrong_cells(patch, whole);
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("time of FillBoundary: %.1f us a step\nchecksum %016llX\n", 1e6 * seconds / steps,
           static_cast<unsigned long long>(sum));
    if (wrong) printf("WRONG: %ld cells\n", wrong);
    if (!wrong) printf("%s\n", no_check ? "not compared" : "right");
  }
  MPI_Finalize();
  return wrong != 0;
}
