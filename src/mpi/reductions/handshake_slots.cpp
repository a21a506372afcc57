#include "mpi/reductions/handshake_slots.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <vector>

#include "mpi/process/gpu_use.hpp"
#include "pack/cuda/handshake.hpp"

namespace dunnage::mpi {

/// A block of the arena, which has room for the slots of many communicators.
struct HandshakeSheet {
  static constexpr std::size_t places = 128;  // of 16 KiB: the least that the arena takes from the driver
  std::shared_ptr<const device::Arena::Block> block;
  std::mutex mutex;
  std::vector<bool> used = std::vector<bool>(places);
};

/// A place of a sheet.
struct SlotsInMemory {
  std::shared_ptr<HandshakeSheet> sheet;
  std::size_t place = 0;

  static std::shared_ptr<const SlotsInMemory> take(std::shared_ptr<HandshakeSheet> sheet) {
    const std::lock_guard lock(sheet->mutex);
    for (std::size_t place = 0; place < HandshakeSheet::places; ++place)
      if (!sheet->used[place]) {
        sheet->used[place] = true;
        return std::make_shared<const SlotsInMemory>(std::move(sheet), place);
      }
    return nullptr;
  }
  SlotsInMemory(std::shared_ptr<HandshakeSheet> of, std::size_t at) : sheet(std::move(of)), place(at) {}
  SlotsInMemory(const SlotsInMemory&) = delete;
  SlotsInMemory& operator=(const SlotsInMemory&) = delete;
  ~SlotsInMemory() {
    const std::lock_guard lock(sheet->mutex);
    sheet->used[place] = false;
  }
};

namespace {

using Sheet = HandshakeSheet;
constexpr auto slots_bytes = pack::cuda::handshake_bytes;

/// The sheet of a context. A new one is made when nobody uses the last one, or when it is full.
/// Null if there is no memory that others reach.
std::shared_ptr<Sheet> sheet_of(const device::Driver& driver, CUcontext context, bool another) {
  static auto* mutex = new std::mutex;
  static auto* sheets = new std::map<unsigned long long, std::weak_ptr<Sheet>>;  // by device::id_of a context
  const std::lock_guard lock(*mutex);
  auto& known = (*sheets)[device::id_of(driver, context)];
  auto sheet = known.lock();
  if (sheet && !another) return sheet;
  sheet = std::make_shared<Sheet>();
  sheet->block = take_block(driver, Sheet::places * static_cast<std::int64_t>(slots_bytes));
  if (!sheet->block) return nullptr;
  known = sheet;
  return sheet;
}

std::atomic<bool> turn_taken{false};

}  // namespace

HandshakeSlots::HandshakeSlots() = default;

HandshakeSlots::~HandshakeSlots() {
  // Another rank's kernel, which comes later, may still write to them.
  static auto* never_used_again = new std::vector<std::shared_ptr<const SlotsInMemory>>;
  static auto* mutex = new std::mutex;
  if (!ended_) return;
  const std::lock_guard lock(*mutex);
  never_used_again->push_back(std::move(slots_));
}

bool HandshakeSlots::ready(const device::Driver& driver, CUcontext context) {
  if (ended_) return false;
  const auto id = device::id_of(driver, context);
  if (slots_) return id == context_id_;
  const device::Scope scope(driver, context);
  for (const bool another : {false, true}) {
    auto sheet = sheet_of(driver, context, another);
    if (!sheet) return false;
    auto slots = SlotsInMemory::take(std::move(sheet));
    if (!slots) continue;
    const std::vector<char> zeros(slots_bytes);
    pack::gpu::gpu_copy(driver, reinterpret_cast<void*>(slots->sheet->block->address + slots->place * slots_bytes),
                        zeros.data(), zeros.size());
    slots_ = std::move(slots);
    context_id_ = id;
    return true;
  }
  return false;
}

std::uintptr_t HandshakeSlots::address() const {
  return static_cast<std::uintptr_t>(slots_->sheet->block->address + slots_->place * slots_bytes);
}
const device::Exported& HandshakeSlots::exported() const { return slots_->sheet->block->exported; }
std::int64_t HandshakeSlots::at() const { return static_cast<std::int64_t>(slots_->place * slots_bytes); }
device::Place HandshakeSlots::place(const device::Driver& driver) const {
  return device::known_place(driver, reinterpret_cast<const void*>(address()));
}

void HandshakeSlots::end_waits(const device::Driver& driver) noexcept {
  if (!slots_) return;
  ended_ = true;
  try {
    const std::vector<std::uint64_t> last(slots_bytes / sizeof(std::uint64_t), std::uint64_t{1} << 62);
    pack::gpu::gpu_copy(driver, reinterpret_cast<void*>(address()), last.data(), slots_bytes);
  } catch (const std::exception&) {  // the device has failed, and its kernels have ended
  }
}

HandshakeTurn::~HandshakeTurn() {
  if (mine_) turn_taken.store(false, std::memory_order_release);
}

bool HandshakeTurn::take() {
  mine_ = mine_ || !turn_taken.exchange(true, std::memory_order_acquire);
  return mine_;
}

}  // namespace dunnage::mpi
