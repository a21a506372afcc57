// Numbers as people write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dunnage::base {

std::string format_bytes(std::uint64_t bytes);        // 4096 -> "4 KiB", 1500 -> "1.46 KiB"
std::string format_seconds(double seconds);           // 1.25e-5 -> "12.5 us"
std::string format_rate(double bytes_per_second);     // 1.25e10 -> "12.5 GB/s"
std::string one_line(std::string_view text);          // what others wrote: at most 80 characters, nothing that moves a cursor
std::string format_size_setting(std::uint64_t bytes); // 1 << 30 -> "1G": exact, and a setting reads it back

}  // namespace dunnage::base
