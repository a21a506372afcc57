// What a rank and the server of a roster say to each other.
//
// The server counts the ranks of a job. When all have come, it tells each of them so, together with
// what they have said about themselves. Both sides prove that they know the key, and nobody says
// it: an address may mean another server on another host, and anybody may call.
//
//   rank    a Hello, with a number that it has drawn and a proof. It may say it before MPI_Init,
//           and to several addresses of the server
//   rank    `waits`, when MPI_Init is over and no answer has come
//   server  an Answer, with a proof, and behind it the places
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/siphash.hpp"

namespace dunnage::transport {

/// Where the shared memory of a rank is found on its host. No file: nowhere.
struct Place {
  std::uint32_t process = 0, file = 0;
  bool operator==(const Place&) const = default;
};

/// What a rank says about itself.
struct Member {
  std::uint64_t world;  // all ranks of MPI_COMM_WORLD have this number in common; 0 if the launcher does not tell
  std::uint32_t rank, ranks;
  std::uint64_t settings = 0;  // ranks with different numbers here are not of one job
  std::uint64_t wants = 0;     // all ranks are told which bits are set by any of them
  std::uint64_t host = 0;      // ranks with one number here are of one job, and reach each other's places; 0: of none
  Place place{};
  using Words = std::array<std::uint64_t, 16>;
  Words words{};  // all ranks are told those of the first
};
static_assert(std::has_unique_object_representations_v<Member>);

/// What a rank is told if all ranks have come.
struct Told {
  std::uint64_t together = 0;  // 1: all have named one host. Only then are they surely of one job
  std::uint64_t wants = 0;
  Member::Words words{};
  std::vector<Place> places;  // by rank; empty if one has none, or if there are more than most_places
};
/// An answer must fit into the buffer of a socket: the server waits for nobody.
inline constexpr std::uint32_t most_places = 256;
/// `members`: of all ranks, in their order.
Told told_by(std::span<const Member> members);

struct Hello {
  char magic[8];  // tells the version of the protocol between ranks, too
  std::array<std::uint64_t, 2> number;
  Member member;
  std::uint64_t proof;
};
static_assert(std::has_unique_object_representations_v<Hello>);
inline constexpr char hello_magic[] = "droster5";
inline constexpr char waits = 'w';

struct Answer {
  std::uint64_t proof;
  std::uint64_t together, wants;
  Member::Words words;
  std::uint64_t places;  // how many follow
};

/// The bytes of an answer.
std::string answer_of(std::uint64_t proof, const Told& told);
struct HeardAnswer {
  std::uint64_t proof;
  Told told;
};
/// Returns nothing if some of the answer has not come yet.
std::optional<HeardAnswer> answer_from(std::span<const char> bytes);

/// What only those can say who know the key.
std::uint64_t proof_of(const base::SipKey& key, const Hello& hello);
/// Likewise, in answer to that Hello.
std::uint64_t proof_of(const base::SipKey& key, const Hello& hello, bool yes, const Told& told);

/// A number that nobody else has drawn. False if the system has none.
bool draw(void* bytes, std::size_t size);

/// The key as hexadecimal digits tell it. Returns nothing if these are no digits of a key.
std::optional<base::SipKey> key_from(std::string_view digits);

}  // namespace dunnage::transport
