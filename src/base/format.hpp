// Numbers and texts in the form in which people read them. All functions are pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dunnage::base {

/// 4096 becomes "4 KiB", 1500 becomes "1.46 KiB".
std::string format_bytes(std::uint64_t bytes);
/// 1.25e-5 becomes "12.5 us".
std::string format_seconds(double seconds);
/// 1.25e10 becomes "12.5 GB/s".
std::string format_rate(double bytes_per_second);
/// Makes text from an untrusted source safe to print: at most `longest` characters, control
/// characters become '?'.
std::string one_line(std::string_view text, std::size_t longest = 80);
/// The longest path.
inline constexpr std::size_t longest_path = 4096;
/// 1 << 30 becomes "1G". The text is exact: parse_size() returns the same number for it.
std::string format_size_setting(std::uint64_t bytes);

}  // namespace dunnage::base
