// Fuzz target: any text is parsed as a datatype; what is one must pack as the brute-force typemap
// says, and what is not must be a SpecError. Built with -DDUNNAGE_FUZZER=ON by clang it is a
// libFuzzer program (make fuzz); otherwise it runs the files it is given, which is how ctest keeps
// every input that ever failed.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "../support/check_program.hpp"
#include "type/text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace dunnage;
  if (size > 2000) return 0;
  try {
    const auto spec = type::parse(std::string_view(reinterpret_cast<const char*>(data), size));
    const auto layout = type::layout_of(*spec);
    // Only what can be laid out in a little memory is packed.
    constexpr std::int64_t most = 1 << 16;
    const auto blocks = layout.data.node ? layout.data.node->blocks : 0;
    const auto map = spec->size <= most && blocks <= most && layout.true_extent <= most;
    if (!map || layout.true_lb < -most || layout.true_lb > most || layout.extent < -most || layout.extent > most)
      return 0;
    unsigned state = static_cast<unsigned>(size);
    const auto between = [&](std::int64_t low, std::int64_t high) {
      state = state * 1664525u + 1013904223u;
      return low + static_cast<std::int64_t>(state >> 8) % (high - low + 1);
    };
    for (std::int64_t count = 0; count <= 2; ++count)
      if (const auto wrong = tests::check_program(*spec, count, between)) {
        std::fprintf(stderr, "wrong: %s, count %lld: %.*s\n", wrong->c_str(), static_cast<long long>(count),
                     static_cast<int>(size), reinterpret_cast<const char*>(data));
        std::abort();
      }
  } catch (const type::SpecError&) {
  }
  return 0;
}

#if !defined(DUNNAGE_FUZZER)
int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    LLVMFuzzerTestOneInput(reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  std::printf("%d inputs\n", argc - 1);
  return argc > 1 ? 0 : 1;
}
#endif
