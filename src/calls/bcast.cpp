#include "calls/bcast.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <vector>

#include "calls/progress.hpp"
#include "calls/tickets.hpp"
#include "transport/shm/window.hpp"

namespace dunnage::calls {
namespace {

using transport::shm::Window;

/// Of a communicator's broadcasts so many are left to the MPI: communicators that live for a few need no window.
constexpr int left_alone = 3;
constexpr std::int64_t most = std::int64_t{1} << 30;  // bytes: what the MPI has to pack must fit its integers
constexpr std::uint32_t cells = 32;
constexpr std::uint64_t cell = 32 << 10;

/// What is kept with a communicator.
struct Group {
  int ranks = 0, rank = 0;
  int seen = 0;  // broadcasts, while there is no window
  bool possible = true;
  std::unique_ptr<Window> window;
};

int keyval = MPI_KEYVAL_INVALID;
std::once_flag keyval_once;

int forget(MPI_Comm, int, void* group, void*) {
  delete static_cast<Group*>(group);
  return MPI_SUCCESS;
}

/// Null where there can be none. A communicator's broadcasts come one at a time.
Group* group_of(MPI_Comm comm) {
  const auto& own = context->own;
  std::call_once(keyval_once, [&] {
    if (own.Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &keyval, nullptr) != MPI_SUCCESS) keyval = MPI_KEYVAL_INVALID;
  });
  if (keyval == MPI_KEYVAL_INVALID) return nullptr;
  void* found = nullptr;
  int there = 0, between = 0;
  if (own.Comm_get_attr(comm, keyval, &found, &there) != MPI_SUCCESS) return nullptr;
  if (there) return static_cast<Group*>(found);
  auto group = std::make_unique<Group>();
  if (own.Comm_test_inter(comm, &between) != MPI_SUCCESS || own.Comm_size(comm, &group->ranks) != MPI_SUCCESS ||
      own.Comm_rank(comm, &group->rank) != MPI_SUCCESS || own.Comm_set_attr(comm, keyval, group.get()) != MPI_SUCCESS)
    return nullptr;
  group->possible = !between && group->ranks > 1;
  return group.release();
}

/// By all ranks at once. Afterwards all have a window, or none has.
void set_up(Group& group, MPI_Comm comm) {
  const auto& own = context->own;
  Window::Name name{};
  std::unique_ptr<Window> window;
  const auto try_to = [](auto&& f) {  // what fails here the others hear of
    try {
      f();
    } catch (const std::exception&) {
    }
  };
  try_to([&] {
    if (group.rank == 0 && (window = Window::make({static_cast<std::uint32_t>(group.ranks), cells, cell}))) name = window->name();
  });
  own.Bcast(&name, sizeof name, MPI_BYTE, 0, comm);
  try_to([&] {
    if (group.rank != 0 && name.key != 0) window = Window::open(name, static_cast<std::uint32_t>(group.rank));
  });
  int here = window != nullptr, everywhere = 0;
  own.Allreduce(&here, &everywhere, 1, MPI_INT, MPI_MIN, comm);
  group.possible = everywhere != 0;
  if (!group.possible) return;
  window->forget_name();
  group.window = std::move(window);
}

/// What others need of this process while it waits in the window.
void let_others_go_on() {
  let_mpi_progress();
  progress_receives();
  answer_letters();
}

/// The message is followed by an error code of the root's, so that nobody takes for data what it could not read.
constexpr std::int64_t code_size = sizeof(std::int64_t);

int write(Group& group, Landing& landing, std::int64_t bytes, std::int64_t code) {
  std::vector<char> packed;  // what the MPI packs it packs at once
  const auto read = [&](char* to, std::int64_t begin, std::int64_t end) {
    if (code != MPI_SUCCESS) return;
    code = guarded([&] {
      if (landing.contiguous() || landing.content()) return landing.read(to, begin, end);
      if (packed.empty()) {
        packed.resize(static_cast<std::size_t>(bytes));
        landing.read(packed.data(), 0, bytes);
      }
      std::copy(packed.begin() + begin, packed.begin() + end, to);
    });
  };
  group.window->write(bytes + code_size, [&](char* to, std::int64_t begin, std::int64_t end) {
    const auto middle = std::clamp(bytes, begin, end);
    if (begin < middle) read(to, begin, middle);
    if (middle < end) std::memcpy(to + (middle - begin), reinterpret_cast<const char*>(&code) + (middle - bytes), static_cast<std::size_t>(end - middle));
  }, let_others_go_on);
  return static_cast<int>(code);
}

int receive(Group& group, Landing& landing, std::int64_t bytes, int mine) {
  std::int64_t code = MPI_SUCCESS;
  group.window->receive(bytes + code_size, [&](const char* from, std::int64_t begin, std::int64_t end) {
    const auto middle = std::clamp(bytes, begin, end);
    if (begin < middle && mine == MPI_SUCCESS) mine = guarded([&] { landing.place(from, begin, middle); });
    if (middle < end) std::memcpy(reinterpret_cast<char*>(&code) + (middle - bytes), from + (middle - begin), static_cast<std::size_t>(end - middle));
  }, let_others_go_on);
  if (mine == MPI_SUCCESS) mine = guarded([&] { landing.finish(); });
  return code != MPI_SUCCESS ? MPI_ERR_OTHER : mine;
}

}  // namespace

std::optional<int> broadcast(Hook hook, void* buffer, std::int64_t count, MPI_Datatype type, int root, MPI_Comm comm) {
  if (count <= 0 || type == MPI_DATATYPE_NULL || comm == MPI_COMM_NULL) return std::nullopt;
  MPI_Count size = 0;
  std::int64_t bytes = 0;
  if (context->own.Type_size_x(type, &size) != MPI_SUCCESS || __builtin_mul_overflow(static_cast<std::int64_t>(size), count, &bytes) || bytes <= 0 || bytes > most) return std::nullopt;
  auto* group = group_of(comm);
  if (!group || !group->possible || root < 0 || root >= group->ranks) return std::nullopt;
  if (!group->window) {
    if (group->seen++ < left_alone) return std::nullopt;
    set_up(*group, comm);
    if (!group->possible) return std::nullopt;
  }
  int code = MPI_SUCCESS;
  Landing landing;
  try {
    landing = Landing::in_place(buffer, count, type);
  } catch (const std::exception&) {
    code = code_of_current_exception();
  }
  // Whatever has gone wrong here, the others go through all cells.
  const Accelerated counted(hook, bytes);
  code = group->rank == root ? write(*group, landing, bytes, code) : receive(*group, landing, bytes, code);
  return code == MPI_SUCCESS ? MPI_SUCCESS : raise(comm, code);
}

void forget_broadcasts() {
  if (keyval != MPI_KEYVAL_INVALID) context->own.Comm_free_keyval(&keyval);
}

}  // namespace dunnage::calls
