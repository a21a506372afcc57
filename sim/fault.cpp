#include "sim/fault.hpp"

#include <charconv>

namespace dunnage::sim {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

bool read(std::string_view text, int& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

void Faults::add(std::string_view function, int after, int code, bool sticky) {
  if (after < 0 || code <= CUDA_SUCCESS || code > CUDA_ERROR_UNKNOWN) return;
  faults_.push_back({std::string(function), after, static_cast<CUresult>(code), sticky});
}

void Faults::add_from(std::string_view text) {
  for (const auto one : split(text, ',')) {
    const auto part = split(one, ':');
    int after = 0, code = 0;
    if (part.size() < 3 || !read(part[1], after) || !read(part[2], code)) continue;
    add(part[0], after, code, part.size() > 3 && part[3] == "sticky");
  }
}

std::optional<Fault> Faults::due(std::string_view function, std::string_view its_class) {
  // Every fault that matches counts the call. If several are due, the first one happens.
  std::optional<Fault> happens;
  for (auto at = faults_.begin(); at != faults_.end();) {
    const bool meant = at->function == function || (!its_class.empty() && at->function == its_class);
    if (meant && at->after == 0 && !happens) {
      happens = *at;
      at = faults_.erase(at);
      continue;
    }
    if (meant && at->after > 0) --at->after;
    ++at;
  }
  return happens;
}

void Calls::count(std::string_view function) {
  const auto found = counts_.find(function);
  if (found != counts_.end())
    ++found->second;
  else
    counts_.emplace(function, 1);
}

unsigned long long Calls::of(const char* function) const {
  if (function) {
    const auto found = counts_.find(std::string_view(function));
    return found == counts_.end() ? 0 : found->second;
  }
  unsigned long long all = 0;
  for (const auto& [name, count] : counts_) all += count;
  return all;
}

}  // namespace dunnage::sim
