// Writing a file inside another program: without a signal, and without waiting for ever.
#pragma once

#include <csignal>

#include <chrono>
#include <string>
#include <string_view>

namespace dunnage::base {

/// While one lives, a write of this thread to a pipe that nobody reads fails, and SIGPIPE does not
/// end the process.
class NoSigpipe {
 public:
  NoSigpipe();
  NoSigpipe(const NoSigpipe&) = delete;
  NoSigpipe& operator=(const NoSigpipe&) = delete;
  ~NoSigpipe();

 private:
  bool blocked_ = false;  // by this object
  sigset_t before_;
};

/// Writes a file anew. The path may name a pipe. The path may be a symbolic link of the user or of
/// root that other users cannot replace. Returns false if not all was written: it is another link,
/// nobody reads the pipe, its reader needs more than `patience`, or the system refuses.
bool write_file(const std::string& path, std::string_view text,
                std::chrono::milliseconds patience = std::chrono::seconds(2));

}  // namespace dunnage::base
