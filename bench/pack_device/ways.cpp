#include "ways.hpp"

#include "common/past.hpp"
#include "document.hpp"

namespace bench {
namespace {

void require(int result, const char* what) {
  if (result != MPI_SUCCESS) throw std::runtime_error(std::string(what) + " gave error " + std::to_string(result));
}

void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

/// Returns a call of MPI_Pack or MPI_Unpack, through the preloaded library or past it.
std::function<void(const Slot&)> mpi_call(const Description& d, MPI_Datatype type, int bytes, bool packing,
                                          bool plain) {
  const auto pack = plain ? BENCH_PAST(MPI_Pack) : MPI_Pack;
  const auto unpack = plain ? BENCH_PAST(MPI_Unpack) : MPI_Unpack;
  const std::uint64_t address = d.address;
  const int count = d.count;
  if (packing)
    return [=](const Slot& slot) {
      int position = 0;
      const int result =
          pack(pointer(slot.user + address), count, type, pointer(slot.packed), bytes, &position, MPI_COMM_SELF);
      require(result, "MPI_Pack");
    };
  return [=](const Slot& slot) {
    int position = 0;
    const int result =
        unpack(pointer(slot.packed), bytes, &position, pointer(slot.user + address), count, type, MPI_COMM_SELF);
    require(result, "MPI_Unpack");
  };
}

/// Returns whether one cuMemcpy3D can do the work: rows have one pitch, and planes are a whole
/// number of rows apart.
bool pitched(const Geometry& g) {
  if (g.offsets || g.inner.stride < g.length) return false;
  return g.outer.count == 1 ||
         (g.outer.stride % g.inner.stride == 0 && g.outer.stride >= g.inner.count * g.inner.stride);
}

/// Adds CUDA's own copy, if one call of it can do the work.
void add_copy(Ways& ways, const Device& device, const Geometry& g, bool packing) {
  const CUstream stream = device.stream();
  const std::uint64_t base = g.base, bytes = payload(g);
  if (!g.offsets && g.outer.count == 1 && g.inner.count == 1) {
    ways.series.push_back({"memcpy", [=](const Slot& slot) {
                             const CUdeviceptr user = slot.user + base;
                             BENCH_CU(cuMemcpyDtoDAsync, packing ? slot.packed : user, packing ? user : slot.packed,
                                      bytes, stream);
                           }});
    return;
  }
  if (!pitched(g)) {
    ways.skipped["memcpy"] = "not one cuMemcpy3D";
    return;
  }
  CUDA_MEMCPY3D copy{};
  copy.WidthInBytes = g.length;
  copy.Height = g.inner.count;
  copy.Depth = g.outer.count;
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  (packing ? copy.srcPitch : copy.dstPitch) = g.inner.stride;
  (packing ? copy.srcHeight : copy.dstHeight) = g.outer.count > 1 ? g.outer.stride / g.inner.stride : g.inner.count;
  (packing ? copy.dstPitch : copy.srcPitch) = g.length;
  (packing ? copy.dstHeight : copy.srcHeight) = g.inner.count;
  ways.series.push_back({"memcpy", [=](const Slot& slot) mutable {
                           copy.srcDevice = packing ? slot.user + base : slot.packed;
                           copy.dstDevice = packing ? slot.packed : slot.user + base;
                           BENCH_CU(cuMemcpy3DAsync, &copy, stream);
                         }});
}

}  // namespace

Types::Types(const Case& subject) {
  for (const Description& d : subject.descriptions) types_.push_back(d.datatype());
}

void add_moves(Ways& ways, const Device& device, const Case& subject, const Types& types, bool packing,
               const Possible& possible, double plain_per_block) {
  const Geometry& g = subject.geometry;
  const auto bytes = static_cast<int>(payload(g));
  const auto blocks = static_cast<double>(g.outer.count * g.inner.count * g.blocks);
  for (std::size_t i = 0; i < subject.descriptions.size(); ++i) {
    const Description& d = subject.descriptions[i];
    if (possible.dunnage)
      ways.series.push_back({"dunnage " + d.name, mpi_call(d, types[i], bytes, packing, false), true, true, true});
    if (!possible.plain) continue;
    if (blocks * plain_per_block > possible.plain_seconds)
      ways.skipped["plain " + d.name] = "too slow";
    else
      ways.series.push_back({"plain " + d.name, mpi_call(d, types[i], bytes, packing, true), true, true, false});
  }
  add_document(ways, device, subject, packing);
  add_copy(ways, device, g, packing);
}

Probes::Probes(const Device& device, const Sectors& touched)
    : device_(device), touched_(touched), list_(DeviceMemory::of(touched.list)), sink_(sizeof(std::uint32_t)) {}

void Probes::add(Ways& ways, bool packing) const {
  const auto add = [&](const char* name, const char* kernel, auto launch) {
    if (const Kernel found = device_.kernel(kernel))
      ways.series.push_back({name, [=](const Slot& slot) { launch(found, slot); }, true, false});
    else
      ways.skipped[name] = "the driver has no such kernel";
  };
  const Device& device = device_;
  const auto sectors = static_cast<std::uint32_t>(touched_.touched);
  const std::uint64_t readers = (sectors + 3) / 4;  // a thread has four loads in progress
  const CUdeviceptr list = list_.address(), sink = sink_.address();
  add("empty", "empty", [&device](const Kernel& k, const Slot&) { k.launch(device.stream(), {1, 1, 1}, {1, 1, 1}); });
  if (touched_.rows) {
    const Rows rows = *touched_.rows;
    add("read probe", "read_rows", [=, &device](const Kernel& k, const Slot& slot) {
      device.launch_over(k, readers, slot.user, rows, sectors, sink);
    });
    if (packing) return;
    add("write probe", "write_rows",
        [=, &device](const Kernel& k, const Slot& slot) { device.launch_over(k, sectors, slot.user, rows, sectors); });
  } else {
    add("read probe", "read_list", [=, &device](const Kernel& k, const Slot& slot) {
      device.launch_over(k, readers, slot.user, list, sectors, sink);
    });
    if (packing) return;
    add("write probe", "write_list",
        [=, &device](const Kernel& k, const Slot& slot) { device.launch_over(k, sectors, slot.user, list, sectors); });
  }
}

}  // namespace bench
