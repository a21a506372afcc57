#include "cases.hpp"

#include <algorithm>
#include <regex>
#include <stdexcept>

#include "make_case.hpp"

namespace bench {

namespace {

using Words = std::smatch;

std::uint64_t number(const Words& words, std::size_t i) { return std::stoull(words[i]); }

std::array<std::uint64_t, 3> extent(const Words& words, std::size_t i) {
  return {number(words, i), number(words, i + 1), number(words, i + 2)};
}

struct Form {
  const char* expression;
  std::optional<Case> (*make)(const Words&, const std::string& start);
};

const Form forms[] = {
    {R"(box (\d+)x(\d+)x(\d+))",
     [](const Words& w, const std::string& s) {
       return box(extent(w, 1), {1024, 1024, 1024}, s);
     }},
    {R"(box (\d+)x(\d+)x(\d+) of (\d+)x(\d+)x(\d+))",
     [](const Words& w, const std::string& s) { return box(extent(w, 1), extent(w, 4), s); }},
    {R"(list (\d+) (sorted|shuffled) (\d+))",
     [](const Words& w, const std::string& s) {
       return block_list(number(w, 1), w[2] == "shuffled", number(w, 3), s);
     }},
    {R"(struct ([a-z0-9*,]+) x (\d+))",
     [](const Words& w, const std::string& s) { return struct_array(w[1], number(w, 2), s); }},
    {R"(subarrays (\d+) (\d+)x(\d+)x(\d+) of (\d+)x(\d+)x(\d+))",
     [](const Words& w, const std::string& s) { return subarrays(number(w, 1), extent(w, 2), extent(w, 5), s); }},
    {R"(halo (\d+) deep (\d+))",
     [](const Words& w, const std::string& s) { return halo(number(w, 1), number(w, 2), s); }},
    {R"(transpose (\d+)x(\d+) of (\d+))",
     [](const Words& w, const std::string& s) { return transpose(number(w, 1), number(w, 2), number(w, 3), s); }},
    {R"(vector (\d+) (\d+)/(\d+) ([a-z]+))",
     [](const Words& w, const std::string& s) { return vector(number(w, 1), number(w, 2), number(w, 3), w[4], s); }},
    {R"(contiguous (\d+))", [](const Words& w, const std::string& s) { return contiguous(number(w, 1), s); }},
};

}  // namespace

std::optional<Case> read_case(const std::string& text, const std::string& start) {
  for (const Form& form : forms) {
    std::smatch words;
    if (!std::regex_match(text, words, std::regex(form.expression))) continue;
    std::optional<Case> made = form.make(words, start);
    if (!made) return made;
    made->name = text;
    made->start = start;
    made->span = span(made->geometry);
    made->block = ~std::uint64_t{0};
    for_each_block(made->geometry,
                   [&](std::uint64_t, std::uint64_t length) { made->block = std::min(made->block, length); });
    return made;
  }
  throw std::invalid_argument("'" + text + "' is no case; a case is one of" + [] {
    std::string all;
    for (const Form& form : forms) all += std::string(": ") + form.expression;
    return all;
  }());
}

}  // namespace bench
