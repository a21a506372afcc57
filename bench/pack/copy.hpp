#pragma once

#include <cstddef>

namespace bench {

/// memcpy that the compiler cannot see through.
void plain_copy(std::byte* to, const std::byte* from, std::size_t bytes);

/// Copies with stores that go past the caches, where the processor has them; else like plain_copy. `to` is aligned to a
/// cache line.
void streaming_copy(std::byte* to, const std::byte* from, std::size_t bytes);

}  // namespace bench
