#pragma once

#include <cstddef>

namespace bench {

/// A memcpy that the compiler cannot optimise away.
void plain_copy(std::byte* to, const std::byte* from, std::size_t bytes);

/// Copies with stores past the caches if the processor has them, else like plain_copy(). `to` must
/// be aligned to a cache line.
void streaming_copy(std::byte* to, const std::byte* from, std::size_t bytes);

}  // namespace bench
