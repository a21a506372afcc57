#include "tool/process.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace dunnage::tool {
namespace {

std::string shell_quoted(const std::string& word) {
  std::string out = "'";
  for (char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

int fail(const std::string& message, int code) {
  fmt::print(stderr, "dunnage: {}\n", message);
  return code;
}

void prepend_to_variable(const char* name, const std::string& entry) {
  const char* old = std::getenv(name);
  setenv(name, old && *old ? (entry + ":" + old).c_str() : entry.c_str(), 1);
}

int become(const std::vector<std::string>& command) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  std::fflush(nullptr);
  execvp(words[0], words.data());
  const int error = errno;
  return fail(fmt::format("cannot run {}: {}", command[0], std::strerror(error)),
              error == ENOENT ? not_found : not_executable);
}

std::string output_of(const std::vector<std::string>& command) {
  std::string line = "timeout 10";
  for (const std::string& word : command) line += " " + shell_quoted(word);
  FILE* pipe = popen((line + " 2>&1 < /dev/null").c_str(), "r");
  if (!pipe) return "";
  std::string out;
  char buffer[4096];
  while (std::size_t n = std::fread(buffer, 1, sizeof buffer, pipe)) out.append(buffer, n);
  return pclose(pipe) == 0 ? out : "";
}

}  // namespace dunnage::tool
