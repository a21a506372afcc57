// One rank's conversation with the server of a roster (bootstrap.hpp), which tells it whether every
// rank of its job has Dunnage.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

#include "base/descriptor.hpp"
#include "transport/bootstrap_protocol.hpp"

namespace dunnage::transport {

class Introduction {
 public:
  /// Says to the server at `address` who this rank is. `machine`: the kernel that this process runs
  /// on, as BootstrapServer::open() is told it. Waits at most a moment, until a server on another
  /// host can be spoken to. If that takes longer, answer() says the rest.
  Introduction(std::string_view address, const Member& self, std::uint64_t machine = 0);
  Introduction(Introduction&&) = default;
  Introduction& operator=(Introduction&&) = default;

  /// The answer. Returns nothing if not all ranks have come, if the server cannot be reached within
  /// `patience`, or if it does not answer within `patience_with_server`. Other ranks may have heard
  /// yes, so an answer is waited for much longer than a server needs that is at work. To be called
  /// once.
  std::optional<Told> answer(std::chrono::milliseconds patience = std::chrono::seconds(1),
                             std::chrono::milliseconds patience_with_server = std::chrono::seconds(30));

 private:
  using Clock = std::chrono::steady_clock;
  /// A connection to what may be the server.
  struct Call {
    base::Descriptor file;
    bool spoken = false;  // the Hello has been sent
    std::vector<char> heard;
  };
  enum class Heard { nothing_yet, nothing, no, yes };
  void call(std::string_view address, std::uint16_t port);
  void look(Clock::time_point until);
  void speak(Call& call);
  void listen(Call& call);
  Heard read(const std::vector<char>& said);
  bool spoken() const;

  base::SipKey key_{};
  Hello hello_{};
  std::vector<Call> calls_;  // those that may still lead to an answer
  bool waiting_ = false;     // the server has been told so, or will be with the Hello
  bool refused_ = false;
  std::optional<Told> told_;
};

}  // namespace dunnage::transport
