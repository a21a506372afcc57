// A thread of the host that sends and receives for streams. It does the messages with ranks whose
// memory this rank's GPU does not reach, as on other hosts.
//
// A stream packs what it sends into page-locked memory, and makes a word there, `started`, the
// number of the exchange. The thread sees the word, and starts requests that are ready-made. When
// all of them are complete, the thread makes another word, `completed`, that number. The stream
// waits for `completed`, and unpacks. The thread calls no function of the driver, because a kernel
// that waits may hold such calls up.
#pragma once

#include <atomic>
#include <vector>

#include "mpi/process/proxied_message.hpp"

namespace dunnage::mpi {

/// The messages of one exchange that the proxy does, from the constructor to the destructor.
class ProxiedMessages {
 public:
  /// Greater than the numbers of all exchanges: in `completed`, it ends the stream's waits.
  static constexpr std::uint64_t broken = std::uint64_t{1} << 62;

  /// The context of `gpu` must be current. Starts the thread. Throws device::Error,
  /// std::system_error.
  ProxiedMessages(device::Gpu& gpu, std::vector<ProxiedMessage> messages);
  ProxiedMessages(const ProxiedMessages&) = delete;
  ProxiedMessages& operator=(const ProxiedMessages&) = delete;
  ~ProxiedMessages();

  /// The address of the word that the stream writes, and of the word for which the stream waits.
  std::uintptr_t started() const { return reinterpret_cast<std::uintptr_t>(words_); }
  std::uintptr_t completed() const;

  /// The MPI error code that ended the messages, or MPI_SUCCESS. Thread-safe.
  int error() const { return error_.load(std::memory_order_acquire); }
  /// Ends the stream's waits, now and from now on. Thread-safe.
  void give_up() { given_up_.store(true, std::memory_order_release); }

  // For the thread:
  /// Does what is to be done. Returns whether messages are under way.
  bool look();
  /// Frees the requests. look() must not be called any more.
  void end();

 private:
  void fail(int code);

  device::Gpu& gpu_;
  char* words_;
  std::vector<ProxiedMessage> messages_;
  std::vector<MPI_Request> requests_;
  std::uint64_t done_ = 0, under_way_ = 0;  // exchanges: the latest complete one, and one that is not, or 0
  std::atomic<int> error_{MPI_SUCCESS};
  std::atomic<bool> given_up_{false};
};

/// Whether a thread of Dunnage's own may call the MPI.
bool proxy_possible();
/// In MPI_Finalize: ends the thread, and all messages.
void stop_proxy();

}  // namespace dunnage::mpi
