#include "transport/shm/broadcast_ring.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <new>

#include "base/descriptor.hpp"
#include "transport/shm/file.hpp"

namespace dunnage::transport::shm {
namespace {
constexpr auto* file_name = "dunnage-broadcast";
}

char* BroadcastRing::map(int file, std::size_t size) {
  // MAP_POPULATE, because the first operations would otherwise wait for the kernel to provide the
  // pages.
  void* base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
  return base == MAP_FAILED ? nullptr : static_cast<char*>(base);
}

std::unique_ptr<BroadcastRing> BroadcastRing::make(const Shape& shape) {
  const auto size = size_of(shape);
  if (!may_grow_to(size)) return nullptr;
  Name name{shape, 0, getpid(), -1};
  base::Descriptor file(make_memory_file(file_name));
  if (!file || ftruncate(file.get(), static_cast<off_t>(size)) != 0 ||
      getrandom(&name.key, sizeof name.key, 0) != sizeof name.key)
    return nullptr;
  auto* base = map(file.get(), size);
  if (!base) return nullptr;
  new (base) Head{name.key, shape};
  auto* marks = reinterpret_cast<Mark*>(base + marks_begin());
  for (std::uint32_t i = 0; i < shape.processes + shape.cells; ++i) new (marks + i) Mark;
  auto* notes_of_all = reinterpret_cast<std::atomic<std::uint64_t>*>(base + notes_begin(shape));
  for (std::size_t i = 0; i < shape.processes * notes; ++i) new (notes_of_all + i) std::atomic<std::uint64_t>(0);
  auto* posts = reinterpret_cast<Post*>(base + posts_begin(shape));
  for (std::size_t i = 0; i < shape.processes; ++i) new (posts + i) Post;
  name.file = file.release();
  return std::unique_ptr<BroadcastRing>(new BroadcastRing(base, name, 0));
}

std::unique_ptr<BroadcastRing> BroadcastRing::open(const Name& name, std::uint32_t self) {
  const auto link = link_to(name.process, name.file);
  if (!is_memory(link, file_name)) return nullptr;
  const base::Descriptor file(::open(link.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY));
  struct stat status;
  const auto size = size_of(name.shape);
  if (!file || fstat(file.get(), &status) != 0 || static_cast<std::size_t>(status.st_size) != size) return nullptr;
  auto* base = map(file.get(), size);
  if (!base) return nullptr;
  const auto& head = *reinterpret_cast<const Head*>(base);
  // A process of another host may have the same number, and a file of the same size.
  if (head.key != name.key || head.shape.processes != name.shape.processes || self >= name.shape.processes) {
    munmap(base, size);
    return nullptr;
  }
  auto opened = name;
  opened.file = -1;
  return std::unique_ptr<BroadcastRing>(new BroadcastRing(base, opened, self));
}

void BroadcastRing::forget_name() {
  if (name_.file >= 0) close(name_.file);
  name_.file = -1;
}

BroadcastRing::~BroadcastRing() {
  forget_name();
  munmap(base_, size_of(name_.shape));
}

}  // namespace dunnage::transport::shm
