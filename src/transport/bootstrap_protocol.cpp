#include "transport/bootstrap_protocol.hpp"

#include <sys/random.h>

#include <charconv>
#include <cstddef>
#include <span>
#include <string>

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
