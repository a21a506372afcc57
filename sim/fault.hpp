// Failures that a test asked for, and how often each function was called.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/cuda_driver_api.h"

namespace dunnage::sim {

struct Fault {
  std::string function;  // or a class of functions
  int after = 0;         // how many more calls succeed
  CUresult code = CUDA_SUCCESS;
  bool sticky = false;
};

class Faults {
 public:
  // Ignored if `code` is not an error code of CUDA.
  void add(std::string_view function, int after, int code, bool sticky);
  void clear() { faults_.clear(); }

  // Reads text such as "cuMemAlloc:3:2,launch:0:719:sticky". Entries that cannot be read are
  // ignored.
  void add_from(std::string_view text);

  // The fault that is due at a call of this function or class, if there is one. The fault is
  // removed.
  std::optional<Fault> due(std::string_view function, std::string_view its_class = {});

 private:
  std::vector<Fault> faults_;
};

class Calls {
 public:
  void count(std::string_view function);
  unsigned long long of(const char* function) const;

 private:
  std::map<std::string, unsigned long long, std::less<>> counts_;
};

}  // namespace dunnage::sim
