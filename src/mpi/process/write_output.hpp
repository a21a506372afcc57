// What a setting asks for at the end of a program (DUNNAGE_REPORT, DUNNAGE_EXPLAIN).
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "base/format.hpp"
#include "base/setting_kinds.hpp"
#include "base/write_file.hpp"

namespace dunnage::mpi {

/// Writes what `text` or `file` return, on standard error or into a file. What cannot be written is
/// one line on standard error, which names it and its setting.
template <class Text, class File>
void write_output(const base::Output& output, std::string_view what, std::string_view setting, const Text& text,
                  const File& file) {
  const base::NoSigpipe guard;  // whoever read standard error may be gone
  if (output.kind == base::Output::text)
    std::fputs(text().c_str(), stderr);
  else if (!base::write_file(output.path, file()))
    std::fputs(fmt::format("dunnage: cannot write {} to {}={}; check that its folder exists\n", what, setting,
                           base::one_line(output.path, base::longest_path))
                   .c_str(),
               stderr);
}

}  // namespace dunnage::mpi
