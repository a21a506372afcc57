// Failures that a test asked for, and the counts of calls.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <cuda.h>

namespace dunnage::sim {

struct Fault {
  std::string function;  // or a class of functions
  int after = 0;         // calls that still pass
  CUresult code = CUDA_SUCCESS;
  bool sticky = false;
};

class Faults {
 public:
  // A code that is none of CUDA's is no fault.
  void add(std::string_view function, int after, int code, bool sticky);
  void clear() { faults_.clear(); }

  // "cuMemAlloc:3:2,launch:0:719:sticky". What cannot be read is left out.
  void add_from(std::string_view text);

  // The fault that is due at a call which goes by these names; it is spent.
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
