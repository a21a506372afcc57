// Functions that replace this process by another program or run another program.
#pragma once

#include <string>
#include <vector>

namespace dunnage::tool {

enum Exit { usage_error = 2, not_executable = 126, not_found = 127 };  // the last two as in env(1)

// Prints "dunnage: MESSAGE" on standard error and returns the code.
int fail(const std::string& message, int code = usage_error);

/// Puts `entry` in front of a variable that is a list separated by colons.
void prepend_to_variable(const char* name, const std::string& entry);

// Replaces this program. If that fails, prints why and returns an exit status.
int become(const std::vector<std::string>& command);

// Returns what the program prints on both streams. Returns "" if the program cannot be run, fails,
// or takes more than ten seconds.
std::string output_of(const std::vector<std::string>& command);

}  // namespace dunnage::tool
