// Becoming, or asking, another program.
#pragma once

#include <string>
#include <vector>

namespace dunnage::tool {

enum Exit { usage_error = 2, not_executable = 126, not_found = 127 };  // the last two as in env(1)

// Prints "dunnage: MESSAGE" on standard error and returns the code.
int fail(const std::string& message, int code = usage_error);

void prepend_to_variable(const char* name, const std::string& entry);  // a list with colons

// Replaces this program; returns an exit code only where that failed, after saying why.
int become(const std::vector<std::string>& command);

// What the program prints on both streams, "" where it cannot be run or needs more than some seconds.
std::string output_of(const std::vector<std::string>& command);

}  // namespace dunnage::tool
