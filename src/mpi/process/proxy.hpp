// A thread of the host that sends and receives for streams: the proxy. It does the messages with
// ranks whose memory this rank's GPU does not reach, as on other hosts.
//
// A stream packs what it sends into page-locked memory, and writes the number of the exchange into
// the word `started` there. The thread sees the word, and starts requests that are ready-made. When
// all messages have come, the thread writes that number into the word `received`. The stream waits
// for the word, and unpacks. The word `sent` likewise says that the memory of sends is free again.
// The thread calls no function of the driver, because a kernel that waits may hold such calls up.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "mpi/process/farewell.hpp"
#include "mpi/process/proxied_message.hpp"

namespace dunnage::mpi {

/// The part of an exchange that the proxy does, from the constructor to the destructor.
class ProxiedExchange {
 public:
  /// Greater than the numbers of all exchanges: in `received` and `sent`, it ends the stream's
  /// waits.
  static constexpr std::uint64_t broken = std::uint64_t{1} << 62;

  /// `farewells`: one for each rank that takes part. The context of `gpu` must be current. Starts
  /// the thread. Throws device::Error, std::system_error.
  ProxiedExchange(device::Gpu& gpu, std::vector<ProxiedMessage> messages,
                  std::vector<std::shared_ptr<Farewell>> farewells);
  ProxiedExchange(const ProxiedExchange&) = delete;
  ProxiedExchange& operator=(const ProxiedExchange&) = delete;
  ~ProxiedExchange();

  /// The addresses of the words.
  std::uintptr_t started() const { return word(0); }
  std::uintptr_t received() const { return word(1); }
  std::uintptr_t sent() const { return word(2); }
  bool receives() const { return sends_from_ > 0; }
  bool sends() const { return sends_from_ < requests_.size(); }

  /// The MPI error code that ended the messages, or MPI_SUCCESS. Thread-safe.
  int error() const { return error_.load(std::memory_order_acquire); }
  /// The rank that has given the exchange up, or -1. Thread-safe.
  int lost() const { return lost_.load(std::memory_order_acquire); }
  /// Ends the stream's waits, now and from now on, and tells the other ranks. Thread-safe.
  void give_up() { given_up_.store(true, std::memory_order_release); }

  // For the thread:
  enum class Progress { none, waiting, some };
  /// Starts or tests the messages. `waiting`: they are under way.
  Progress progress();
  /// Frees the requests. If messages are under way, the waits end and the other ranks are told.
  void end();

 private:
  std::uintptr_t word(std::size_t i) const;
  void write(std::uintptr_t word, std::uint64_t number) const;
  /// Ends everything, with an MPI error code.
  void fail(int code);
  void look_for_farewells();
  int start();
  int test();

  device::Gpu& gpu_;
  std::vector<ProxiedMessage> messages_;
  std::vector<std::shared_ptr<Farewell>> farewells_;
  char* words_;
  std::vector<MPI_Request> requests_;  // receives, and then sends
  std::size_t sends_from_ = 0;
  std::uint64_t done_ = 0;       // the number of the latest exchange that is complete
  std::uint64_t under_way_ = 0;  // the number of the one that is not, or 0
  bool all_received_ = false, all_sent_ = false;
  unsigned looks_ = 0;
  std::atomic<int> error_{MPI_SUCCESS}, lost_{-1};
  std::atomic<bool> given_up_{false};
};

/// Whether a thread of Dunnage's own may call the MPI.
bool proxy_possible();
/// In MPI_Finalize: ends the thread, and all messages.
void stop_proxy();

}  // namespace dunnage::mpi
