#include "tool/roster.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "transport/bootstrap.hpp"
#include "transport/peers/job.hpp"

namespace dunnage::tool {

void start_roster() {
  const char* there = std::getenv("DUNNAGE_ROSTER");
  if (there && *there) return;
  auto server = transport::BootstrapServer::open(transport::peers::machine_key());
  // Becomes readable when this process has ended.
  const int launcher = static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0));
  if (!server || launcher < 0) return;
  const pid_t child = fork();
  if (child == 0) {
    // The roster is a grandchild: a launcher may wait for any child of its own.
    if (fork() != 0) _exit(0);
    // A signal from the launcher's terminal must not stop the roster before it has answered the
    // ranks.
    setsid();
    const int nothing = open("/dev/null", O_RDWR);
    for (int file = 0; file <= 2; ++file) dup2(nothing, file);
    server->serve(launcher);
    _exit(0);
  }
  close(launcher);
  if (child < 0) return;
  waitpid(child, nullptr, 0);
  setenv("DUNNAGE_ROSTER", server->address().c_str(), 1);
}

}  // namespace dunnage::tool
