// The functions of the library fmt that are not templates, compiled once. In every file that
// includes them they take seconds. Dunnage does not link libfmt.so: what is preloaded into a
// program must not depend on libraries of the machine that built it.
#define FMT_HEADER_ONLY
#include <fmt/format.h>

namespace dunnage::base {

// What has an address here is compiled here.
using fmt::detail::locale_ref;
[[gnu::used]] static std::string (*const format)(fmt::string_view, fmt::format_args) = fmt::vformat;
[[gnu::used]] static void (*const print)(fmt::string_view, fmt::format_args) = fmt::vprint;
[[gnu::used]] static void (*const print_to)(std::FILE*, fmt::string_view, fmt::format_args) = fmt::vprint;
[[gnu::used]] static void (*const fail)(const char*) = fmt::detail::throw_format_error;
[[gnu::used]] static bool (*const printable)(std::uint32_t) = fmt::detail::is_printable;
[[gnu::used]] static fmt::detail::thousands_sep_result<char> (*const separator)(locale_ref) =
    fmt::detail::thousands_sep_impl<char>;

}  // namespace dunnage::base
