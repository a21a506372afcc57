#include "transport/shm/window.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <new>
#include <string_view>

#include "base/descriptor.hpp"

namespace dunnage::transport::shm {

char* Window::map(int file, std::size_t size) {
  void* base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return base == MAP_FAILED ? nullptr : static_cast<char*>(base);
}

std::unique_ptr<Window> Window::make(const Shape& shape) {
  rlimit limit;
  const auto size = size_of(shape);
  // Growing a file beyond the limit is answered with a signal.
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < size) return nullptr;
  Name name{shape, 0, getpid(), -1};
  base::Descriptor file(memfd_create("dunnage-window", MFD_CLOEXEC));
  if (!file || ftruncate(file.get(), static_cast<off_t>(size)) != 0 || getrandom(&name.key, sizeof name.key, 0) != sizeof name.key) return nullptr;
  auto* base = map(file.get(), size);
  if (!base) return nullptr;
  new (base) Head{name.key, shape};
  auto* marks = reinterpret_cast<Mark*>(base + marks_begin());
  for (std::uint32_t i = 0; i < shape.processes + shape.cells; ++i) new (marks + i) Mark;
  name.file = file.release();
  return std::unique_ptr<Window>(new Window(base, name, 0));
}

std::unique_ptr<Window> Window::open(const Name& name, std::uint32_t self) {
  const auto link = fmt::format("/proc/{}/fd/{}", name.process, name.file);
  char target[64];
  const auto length = readlink(link.c_str(), target, sizeof target);
  if (length <= 0 || std::string_view(target, static_cast<std::size_t>(length)) != "/memfd:dunnage-window (deleted)") return nullptr;
  const base::Descriptor file(::open(link.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY));
  struct stat status;
  const auto size = size_of(name.shape);
  if (!file || fstat(file.get(), &status) != 0 || static_cast<std::size_t>(status.st_size) != size) return nullptr;
  auto* base = map(file.get(), size);
  if (!base) return nullptr;
  const auto& head = *reinterpret_cast<const Head*>(base);
  // The number may be another process' on another host that looks the same.
  if (head.key != name.key || head.shape.processes != name.shape.processes || self >= name.shape.processes) {
    munmap(base, size);
    return nullptr;
  }
  auto opened = name;
  opened.file = -1;
  return std::unique_ptr<Window>(new Window(base, opened, self));
}

void Window::forget_name() {
  if (name_.file >= 0) close(name_.file);
  name_.file = -1;
}

Window::~Window() {
  forget_name();
  munmap(base_, size_of(name_.shape));
}

}  // namespace dunnage::transport::shm
