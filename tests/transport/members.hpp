// Ranks that tell a roster of themselves.
#pragma once

#include "transport/bootstrap_protocol.hpp"

namespace dunnage::transport {

/// Who is of the same host as all others, and has its memory there.
inline Member with_place(std::uint32_t rank, std::uint32_t ranks, std::uint64_t host = 5) {
  Member member{7, rank, ranks};
  member.host = host;
  member.place = {1000 + rank, 60 + rank};
  member.wants = std::uint64_t{1} << rank % 64;
  member.words = {10 + rank, 20 + rank};
  return member;
}

}  // namespace dunnage::transport
