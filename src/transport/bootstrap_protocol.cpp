#include "transport/bootstrap_protocol.hpp"

#include <sys/random.h>

#include <charconv>
#include <cstddef>
#include <cstring>

namespace dunnage::transport {
namespace {

constexpr std::size_t key_length = 2 * sizeof(base::SipKey);  // hexadecimal digits
enum class Proof : char { rank = 'r', yes = 'y', no = 'n' };

class Text {
 public:
  explicit Text(Proof what) : text_(1, static_cast<char>(what)) {}
  template <class Value>
  Text& add(const Value& value) {
    static_assert(std::has_unique_object_representations_v<Value>);
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  std::uint64_t proof(const base::SipKey& key) const { return base::siphash(key, text_); }

 private:
  std::string text_;
};

}  // namespace

std::uint64_t proof_of(const base::SipKey& key, const Hello& hello) {
  return Text(Proof::rank).add(hello.number).add(hello.member).proof(key);
}

std::uint64_t proof_of(const base::SipKey& key, const Hello& hello, bool yes, const Told& told) {
  Text text(yes ? Proof::yes : Proof::no);
  text.add(hello.number).add(hello.member).add(told.together).add(told.wants).add(told.words);
  for (const auto& place : told.places) text.add(place);
  return text.proof(key);
}

Told told_by(std::span<const Member> members) {
  Told told;
  told.words = members.front().words;
  const auto host = members.front().host;
  bool together = host != 0, placed = members.size() <= most_places;
  for (const auto& member : members) {
    told.wants |= member.wants;
    together = together && member.host == host;
    placed = placed && together && member.place.file != 0;
    if (placed) told.places.push_back(member.place);
  }
  told.together = together;
  if (!placed) told.places.clear();
  return told;
}

std::string answer_of(std::uint64_t proof, const Told& told) {
  const Answer answer{proof, told.together, told.wants, told.words, told.places.size()};
  std::string bytes(reinterpret_cast<const char*>(&answer), sizeof answer);
  bytes.append(reinterpret_cast<const char*>(told.places.data()), told.places.size() * sizeof(Place));
  return bytes;
}

std::optional<HeardAnswer> answer_from(std::span<const char> bytes) {
  Answer answer;
  if (bytes.size() < sizeof answer) return std::nullopt;
  std::memcpy(&answer, bytes.data(), sizeof answer);
  HeardAnswer heard{answer.proof, {answer.together, answer.wants, answer.words, {}}};
  if (answer.places > most_places) return heard;  // the proof is wrong
  const auto size = answer.places * sizeof(Place);
  if (bytes.size() < sizeof answer + size) return std::nullopt;
  heard.told.places.resize(answer.places);
  if (size != 0) std::memcpy(heard.told.places.data(), bytes.data() + sizeof answer, size);
  return heard;
}

bool draw(void* bytes, std::size_t size) { return getrandom(bytes, size, 0) == static_cast<ssize_t>(size); }

std::optional<base::SipKey> key_from(std::string_view digits) {
  if (digits.size() != key_length) return std::nullopt;
  base::SipKey key{};
  for (std::size_t i = 0; i < key.size(); ++i) {
    const auto* begin = digits.data() + i * key_length / key.size();
    const auto* end = begin + key_length / key.size();
    if (std::from_chars(begin, end, key[i], 16).ptr != end) return std::nullopt;
  }
  return key;
}

}  // namespace dunnage::transport
