#include "device/surely_host.hpp"

#include <pthread.h>

namespace dunnage::device {

constinit thread_local std::uintptr_t stack_end = 0;

void find_stack_end() {
  stack_end = 1;  // no address is below it
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void* begin = nullptr;
  std::size_t size = 0;
  if (pthread_attr_getstack(&attributes, &begin, &size) == 0 && size > 0)
    stack_end = reinterpret_cast<std::uintptr_t>(begin) + size;
  pthread_attr_destroy(&attributes);
}

}  // namespace dunnage::device
