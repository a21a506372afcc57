#include "base/format.hpp"

#include <fmt/format.h>

namespace dunnage::base {
namespace {

// Three significant digits, and no exponent for numbers below 10,000.
std::string digits(double value) { return value >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value); }

}  // namespace

std::string format_bytes(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  constexpr const char* units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  int unit = 0;
  for (; value >= 1024 && unit < 5; ++unit) value /= 1024;
  return fmt::format("{} {}", digits(value), units[unit]);
}

std::string format_seconds(double seconds) {
  if (seconds == 0) return "0 s";
  if (seconds < 1e-6) return digits(seconds * 1e9) + " ns";
  if (seconds < 1e-3) return digits(seconds * 1e6) + " us";
  if (seconds < 1) return digits(seconds * 1e3) + " ms";
  return digits(seconds) + " s";
}

std::string format_rate(double bytes_per_second) {
  if (bytes_per_second < 1e6) return digits(bytes_per_second / 1e3) + " kB/s";
  if (bytes_per_second < 1e9) return digits(bytes_per_second / 1e6) + " MB/s";
  return digits(bytes_per_second / 1e9) + " GB/s";
}

std::string format_size_setting(std::uint64_t bytes) {
  constexpr struct {
    int shift;
    char suffix;
  } units[] = {{40, 'T'}, {30, 'G'}, {20, 'M'}, {10, 'K'}};
  for (auto [shift, suffix] : units) {
    if (bytes != 0 && bytes % (std::uint64_t{1} << shift) == 0) return fmt::format("{}{}", bytes >> shift, suffix);
  }
  return fmt::format("{}", bytes);
}

std::string one_line(std::string_view text, std::size_t longest) {
  std::string out(text.substr(0, longest));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  }
  return text.size() > longest ? out + "..." : out;
}

}  // namespace dunnage::base
