// Data that one call fetches into device memory, brought with as few launches as their arrival
// allows.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "mpi/message/device_landing.hpp"

namespace dunnage::mpi {

/// Data that are to come to device memory.
struct DeviceFetch {
  CUcontext context;
  std::shared_ptr<const ScopedTransfers::Move> move;
  std::function<void()> ended;                 // called once, whether or not the data have come
  std::shared_ptr<const void> keep = nullptr;  // lives until then, beside what the move keeps
};

/// Does at once what several fetches are for, if all of them are about to begin together: then
/// their data need not come. While one lives, the batches of its thread ask it.
class JointFetch {
 public:
  JointFetch(const JointFetch&) = delete;
  JointFetch& operator=(const JointFetch&) = delete;
  /// Whether it needs the data of this fetch where they are.
  virtual bool needs(const DeviceFetch& fetch) const = 0;
  /// Begins, if these are all the fetches that it needs; else it returns null, and they begin as
  /// others do. Throws device::Error.
  virtual std::unique_ptr<DeviceWork> begin(std::span<const DeviceFetch* const> fetches) = 0;

  class Scope {
   public:
    explicit Scope(JointFetch& joint);
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope();

   private:
    JointFetch* const outer_;
  };

 protected:
  JointFetch() = default;
  ~JointFetch() = default;
};

/// While a batch lives, what its thread fetches into device memory may come later; it is there
/// after finish(). Batches of one thread nest.
class FetchBatch {
 public:
  /// `join`: takes over what the outer batch has not begun, so that both share launches.
  enum class Outer { leave, join };
  /// `together`: the data should begin in the order of their requests, so that ranks do not all
  /// read from one GPU first. So they wait for each other longer than others do. A batch that joins
  /// is as the outer one.
  enum class When { as_they_come, together };
  explicit FetchBatch(Outer outer = Outer::leave, When when = When::as_they_come);
  FetchBatch(const FetchBatch&) = delete;
  FetchBatch& operator=(const FetchBatch&) = delete;
  ~FetchBatch();
  /// The innermost batch of this thread, or null.
  static FetchBatch* current();

  /// From now on what is fetched belongs to request `index`.
  void about(int index) { index_ = index; }
  void add(DeviceFetch fetch);
  /// Begins what has been added, and ends what has come.
  void go_on();
  /// Whether what has been added should not wait for more to come: it takes longer to move than a
  /// launch takes, and either nothing is under way or it is worth a launch of its own.
  bool worth_a_launch() const {
    return !begins_together() && pending_bytes_ >= longer_than_a_launch &&
           (flights_.empty() || pending_.size() >= worth_of_messages);
  }
  bool begins_together() const { return when_ == When::together; }
  /// For so long what has been added should wait for more to come.
  std::chrono::nanoseconds moment() const {
    constexpr std::chrono::nanoseconds least{3000};
    return begins_together() ? least + worth_waiting(pending_bytes_) : least;
  }
  /// For so long data should wait for others with which they are to begin: an eighth of the time
  /// that a link between GPUs needs for them.
  static std::chrono::nanoseconds worth_waiting(std::int64_t bytes) {
    constexpr std::int64_t bytes_in_a_nanosecond = 400;
    return std::chrono::nanoseconds(bytes / bytes_in_a_nanosecond / 8);
  }
  struct Failure {
    int index, code;  // the request's; an MPI error code
  };
  /// Waits until all data are there. Returns what failed.
  std::vector<Failure> finish();

 private:
  struct Pending {
    DeviceFetch fetch;
    int index;
    FetchBatch* batch;  // which hears of a failure
  };
  struct Flight {
    std::vector<Pending> messages;
    std::unique_ptr<DeviceWork> work;
  };
  /// A launch takes 2.5 us of the host's time, in which a link between GPUs moves so many bytes.
  static constexpr std::int64_t longer_than_a_launch = 4 << 20;
  static constexpr std::size_t worth_of_messages = 4;
  static std::int64_t bytes_of(const std::vector<Pending>& messages);
  void end(const std::vector<Pending>& messages, int code);
  /// Begins the work of `begin()` for messages, which must not be pending any more.
  template <class Begin>
  void fly(std::vector<Pending> messages, Begin&& begin);
  /// Those of one context.
  void begin_transfers();
  void begin_jointly(JointFetch& joint);

  std::vector<Pending> pending_;
  std::int64_t pending_bytes_ = 0;
  std::vector<Flight> flights_;
  std::vector<Failure> failures_;
  bool begun_ = false;  // a flight of this batch has begun
  FetchBatch* const outer_;
  const When when_;
  int index_ = 0;
};

/// Fetches at once, or by the thread's batch if it has one. Returns an MPI error code.
int fetch_to_device(DeviceFetch fetch);

}  // namespace dunnage::mpi
