#include "mpi/windows/update.hpp"

#include <algorithm>

#include "mpi/message/buffer.hpp"
#include "mpi/message/copy_within.hpp"
#include "mpi/process/failure.hpp"
#include "mpi/process/gpu_use.hpp"
#include "mpi/reductions/kinds.hpp"
#include "mpi/windows/elements_of.hpp"
#include "transport/shm/patience.hpp"

namespace dunnage::mpi {
namespace {

using device::Place;
using memory::Buffer;
using Bytes = std::vector<char>;

/// Fewer bytes are reduced in host memory, unless a kernel finds all of them in their places: to
/// copy them there takes as long as a kernel.
constexpr std::int64_t worth_a_kernel = 4096;

/// The MPI does the operation without data. It judges the arguments and the epoch, and makes the
/// request.
int check(const Update& u, MPI_Win win, MPI_Request* request) {
  const auto& own = process->own;
  const auto* from = u.origin.buffer;
  if (u.compare)
    return own.Get(u.result.buffer ? const_cast<void*>(u.result.buffer) : nullptr, 0, u.reach.type, u.target, 0, 0,
                   u.reach.type, win);
  if (u.fetches) {
    auto* const into = const_cast<void*>(u.result.buffer);
    return request ? own.Rget_accumulate(from, 0, u.origin.type, into, 0, u.result.type, u.target, 0, 0, u.reach.type,
                                         u.op, win, request)
                   : own.Get_accumulate(from, 0, u.origin.type, into, 0, u.result.type, u.target, 0, 0, u.reach.type,
                                        u.op, win);
  }
  return request ? own.Raccumulate(from, 0, u.origin.type, u.target, 0, 0, u.reach.type, u.op, win, request)
                 : own.Accumulate(from, 0, u.origin.type, u.target, 0, 0, u.reach.type, u.op, win);
}

void put(const Buffer& to, const Bytes& bytes) {
  const memory::Landing landing{to};
  landing.restart();
  landing.place(bytes.data(), 0, static_cast<std::int64_t>(bytes.size()));
  landing.finish();
}

Bytes get(const Buffer& from, std::int64_t size) {
  Bytes bytes(static_cast<std::size_t>(size));
  from.pack(bytes.data(), 0, size);
  return bytes;
}

int copy(const Buffer& from, const Buffer& to, std::int64_t bytes) {
  WindowMoves moves;
  const int code = moves.add(from, to, bytes);
  return code == MPI_SUCCESS ? moves.complete() : code;
}

/// Reductions by a kernel. All addresses are of one context.
class ByKernel {
 public:
  ByKernel(CUcontext context, const KernelOf& kernel) : context_(context), kernel_(kernel) {}

  /// Whether a buffer is an array that kernels reduce in its place. Then its address.
  std::optional<std::uintptr_t> array(const Buffer& buffer, std::int64_t bytes) const {
    const auto* data = buffer.device();
    if (!data || !in_one_piece(*data) || data->place.memory != device::Memory::device) return std::nullopt;
    const auto first = data->recipe->recipe.contiguous(0, bytes);
    if (!first) return std::nullopt;
    const auto at = reinterpret_cast<std::uintptr_t>(data->buffer) + static_cast<std::uintptr_t>(*first);
    return at % static_cast<std::uintptr_t>(facts().alignment) == 0 ? std::optional(at) : std::nullopt;
  }
  /// target = target op given. Throws device::Error.
  void reduce(std::uintptr_t target, std::uintptr_t given, std::int64_t bytes) const {
    const auto& driver = *device::driver();
    const device::Scope scope(driver, context_);
    auto& gpu = device::Gpu::current(driver);
    device::Borrowed lane(gpu);
    const std::uintptr_t sources[] = {target, given};
    pack::gpu::launch_reduction(gpu, lane, kernel_.element, kernel_.operation, sources, target, bytes / facts().extent);
    for (transport::shm::Patience patience; !lane.done();) patience.wait();
  }
  /// Device memory for two packed copies. Null if there is none.
  std::shared_ptr<const device::Arena::Block> room(std::int64_t bytes) const {
    const device::Scope scope(*device::driver(), context_);
    return take_block(*device::driver(), 2 * rounded(bytes));
  }
  static std::int64_t rounded(std::int64_t bytes) { return (bytes + 255) / 256 * 256; }

 private:
  const pack::cuda::ElementFacts& facts() const { return facts_of(kernel_.element); }
  const CUcontext context_;
  const KernelOf kernel_;
};

/// Data as device memory at an address.
Buffer packed_at(CUdeviceptr address, std::int64_t bytes, Place place) {
  Buffer buffer;
  place.address = static_cast<std::uintptr_t>(address);
  const Elements all{reinterpret_cast<const void*>(address), bytes, MPI_BYTE};
  placed_on_gpu(*device::driver(), all, place, buffer);
  return buffer;
}

/// One update of a target that no other rank updates meanwhile. Members return MPI error codes, or
/// throw what memory throws.
class Updating {
 public:
  Updating(const Update& update, const Target& target, const Buffer& there)
      : u_(update), target_(target), there_(there), bytes_(there.size()) {
    if (u_.op != MPI_NO_OP) {
      given_ = buffer_of(const_cast<void*>(u_.origin.buffer), u_.origin.count, u_.origin.type);
    }
    if (u_.fetches) result_ = buffer_of(const_cast<void*>(u_.result.buffer), u_.result.count, u_.result.type);
  }
  std::int64_t bytes() const { return bytes_; }
  bool fits() const {
    return (u_.op == MPI_NO_OP || given_.size() == bytes_) && (!u_.fetches || result_.size() >= bytes_);
  }

  int run() {
    if (u_.compare) return swap();
    if (u_.op == MPI_NO_OP) return copy(there_, result_, bytes_);
    if (u_.op == MPI_REPLACE) {
      // The result may be where the given data are.
      const bool same = u_.fetches && u_.result.buffer == u_.origin.buffer;
      if (same) return in_host([](Bytes& old, const Bytes& given) { return old = given, MPI_SUCCESS; });
      const int code = u_.fetches ? copy(there_, result_, bytes_) : MPI_SUCCESS;
      return code == MPI_SUCCESS ? copy(given_, there_, bytes_) : code;
    }
    const auto element = element_of(u_.reach.type);
    if (element == MPI_DATATYPE_NULL) return MPI_ERR_TYPE;
    if (const auto kernel = kernel_of(element, u_.op); kernel && !facts_of(kernel->element).gaps()) {
      if (const auto code = by_kernel(*kernel)) return *code;
    }
    return in_host([&](Bytes& old, const Bytes& given) { return reduce_packed(old, given, element, u_.op); });
  }

 private:
  template <class Combine>
  int in_host(Combine&& combine) {
    const auto given = get(given_, bytes_);
    auto value = get(there_, bytes_);
    const auto old = u_.fetches ? value : Bytes();
    if (const int code = combine(value, given); code != MPI_SUCCESS) return code;
    put(there_, value);
    if (u_.fetches) put(result_, old);
    return MPI_SUCCESS;
  }
  int swap() {
    const auto expected = get(buffer_of(const_cast<void*>(u_.compare), u_.origin.count, u_.origin.type), bytes_);
    const auto given = get(given_, bytes_), old = get(there_, bytes_);
    if (old == expected) put(there_, given);
    put(result_, old);
    return MPI_SUCCESS;
  }
  /// Nothing if there is no room, or if it is not worth while: then no buffer has been touched.
  std::optional<int> by_kernel(const KernelOf& kernel) {
    const auto context =
        target_.place.context ? target_.place.context : device::context_for(*device::driver(), target_.place);
    const ByKernel work(context, kernel);
    const auto to = work.array(there_, bytes_), from = work.array(given_, bytes_);
    const auto same_context = [&] { return common_context(given_, there_) == std::optional(context); };
    // A result in the place of the origin's data would come before they are reduced.
    const bool in_place = from && same_context() && !(u_.fetches && u_.result.buffer == u_.origin.buffer);
    if (to && in_place) {
      if (const int code = fetch(); code != MPI_SUCCESS) return code;
      work.reduce(*to, *from, bytes_);
      return MPI_SUCCESS;
    }
    if (bytes_ < worth_a_kernel) return std::nullopt;
    const auto room = work.room(bytes_);
    if (!room) return std::nullopt;
    const auto place = device::known_place(*device::driver(), reinterpret_cast<const void*>(room->address));
    const auto second = room->address + static_cast<CUdeviceptr>(ByKernel::rounded(bytes_));
    const auto old = packed_at(room->address, bytes_, place), given = packed_at(second, bytes_, place);
    int code = gather(old, in_place ? nullptr : &given);
    if (code == MPI_SUCCESS && u_.fetches) code = copy(old, result_, bytes_);
    if (code != MPI_SUCCESS) return code;
    work.reduce(static_cast<std::uintptr_t>(room->address), in_place ? *from : static_cast<std::uintptr_t>(second),
                bytes_);
    return copy(old, there_, bytes_);
  }
  /// Packs the target and, unless `given` is null, the origin's data: together, because each wait
  /// for the device takes as long as a short copy.
  int gather(const Buffer& old, const Buffer* given) {
    WindowMoves moves;
    int code = moves.add(there_, old, bytes_);
    if (code == MPI_SUCCESS && given) code = moves.add(given_, *given, bytes_);
    const int completed = moves.complete();
    return code == MPI_SUCCESS ? completed : code;
  }
  int fetch() { return u_.fetches ? copy(there_, result_, bytes_) : MPI_SUCCESS; }

  const Update& u_;
  const Target& target_;
  const Buffer& there_;
  const std::int64_t bytes_;
  Buffer given_, result_;
};

int update_at(Window& window, const Target& target, const Update& u) {
  Buffer there;
  if (const int code = buffer_in(target, u.reach, there); code != MPI_SUCCESS) return code;
  if (!there) return MPI_SUCCESS;
  Updating updating(u, target, there);
  if (!updating.fits()) return MPI_ERR_TRUNCATE;
  const Accelerated counted(u.hook, updating.bytes());
  process->count(u.hook, plan::GpuWay::direct_window);
  return window.updating(u.target, [&] {
    int code = MPI_SUCCESS;
    const int thrown = guarded([&] { code = updating.run(); });
    return thrown == MPI_SUCCESS ? code : thrown;
  });
}

/// MPI_Compare_and_swap: whether the standard has it for a type. Others than the known ones are for
/// the MPI's compiler to have.
bool swaps(MPI_Datatype type) {
  return kernel_of(type, MPI_BAND) || kernel_of(type, MPI_LAND) ||
         (!kernel_of(type, MPI_SUM) && !kernel_of(type, MPI_MAXLOC));
}

}  // namespace

void DirectUpdate::run(Update u, MPI_Win win, MPI_Request* request) {
  const auto given = u.op == MPI_NO_OP ? Elements{nullptr, 0, u.reach.type} : u.origin;
  if (for_mpi_to_judge(given, u.reach) || (u.fetches && for_mpi_to_judge(u.result, u.reach))) return;
  const auto window = find_window(win);
  std::optional<Target> target;
  int code = window ? guarded([&] { target = window->direct(u.target, u.reach); }) : MPI_SUCCESS;
  if (!target && code == MPI_SUCCESS) return;
  const int checked = check(u, win, request);
  if (checked == MPI_SUCCESS && u.compare && !swaps(u.reach.type)) {
    code = MPI_ERR_TYPE;
  } else if (checked == MPI_SUCCESS && target) {
    const int thrown = guarded([&] { code = update_at(*window, *target, u); });
    if (thrown != MPI_SUCCESS) code = thrown;
  }
  code_ = ended(win, checked, code, request);
}

}  // namespace dunnage::mpi
