// Measures nonblocking messages for trials of who packs them.
//
// The time of one call tells little about a nonblocking message: its data may move in any call
// until the message has ended. So an exchange is measured. It lasts from the begin of one message
// until none of its messages is under way. Its time is the time of all calls that the thread makes
// meanwhile and that may move messages.
//
// All messages that the thread begins meanwhile belong to the exchange, sends and receives alike,
// whichever trial they have. One candidate packs all of them. A mixture may take longer than either
// candidate: if a sender packs, and its receiver leaves the unpacking to the MPI, the MPI can copy
// neither in one piece nor piece by piece. What the first message's trial finds, the others follow.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/optional_mutex.hpp"
#include "plan/exchange_trial.hpp"

namespace dunnage::plan {

/// Measures one exchange of a process at a time. Thread-safe. Messages and calls must not outlive
/// the timer.
class ExchangeTimer {
 public:
  /// Returns nanoseconds.
  using Clock = std::int64_t (*)();

  explicit ExchangeTimer(Clock clock) : clock_(clock) {}
  ExchangeTimer(const ExchangeTimer&) = delete;
  ExchangeTimer& operator=(const ExchangeTimer&) = delete;

  std::int64_t now() const { return clock_(); }
  /// Whether an exchange is being measured. Costs one load.
  bool open() const { return open_.load(std::memory_order_relaxed) != 0; }
  /// While nothing is measured. Tests have a clock of their own.
  void use_clock(Clock clock) { clock_ = clock; }
  /// While nothing is measured: from now on no two threads use the timer at a time, and it takes no
  /// mutex.
  void one_thread_at_a_time() { mutex_.switch_off(); }

  /// A message of the exchange that is measured. Empty if the message is not measured. The
  /// destructor tells that the message has ended. One thread at a time.
  class Message {
   public:
    Message() = default;
    Message(ExchangeTimer& timer, std::uint32_t exchange) : timer_(&timer), exchange_(exchange) {}
    Message(Message&& other) noexcept : timer_(std::exchange(other.timer_, nullptr)), exchange_(other.exchange_) {}
    Message& operator=(Message&& other) noexcept {
      end();
      timer_ = std::exchange(other.timer_, nullptr);
      exchange_ = other.exchange_;
      return *this;
    }
    ~Message() { end(); }
    explicit operator bool() const { return timer_ != nullptr; }
    /// The message has ended.
    void end() {
      if (timer_) std::exchange(timer_, nullptr)->ended(exchange_, true);
    }
    /// The message tells nothing about its trial, for example because it has failed.
    void give_up() {
      if (timer_) std::exchange(timer_, nullptr)->ended(exchange_, false);
    }

   private:
    ExchangeTimer* timer_ = nullptr;
    std::uint32_t exchange_ = 0;
  };

  struct Turn {
    Packer packer;
    Message message;
  };
  /// Says who packs a message that is about to begin. The caller is in a Call. If no exchange is
  /// being measured and the trial wants to know more, this message begins an exchange. If one is
  /// being measured, this message joins it.
  Turn begin(ExchangeTrial& trial);

  /// One call that may move messages, from the constructor to the destructor. Calls may be nested.
  class Call {
   public:
    explicit Call(ExchangeTimer& timer) : timer_(timer) {
      if (depth++ == 0 && timer_.open()) timer_.call_begins();
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call() {
      if (--depth == 0 && timer_.open()) timer_.call_ends();
    }

   private:
    ExchangeTimer& timer_;
    static inline constinit thread_local int depth = 0;  // of calls in calls
  };

 private:
  /// An exchange that has not ended after so many messages is given up, so that others have their
  /// turn.
  static constexpr int most_messages = 1 << 16;

  void call_begins();
  void call_ends();
  void ended(std::uint32_t exchange, bool well);
  void close();

  Clock clock_;
  std::atomic<std::uint32_t> open_{0};  // the number of the exchange that is measured; 0 if there is none
  base::OptionalMutex mutex_;           // guards everything below
  std::uint32_t last_ = 0;              // the number of the latest exchange
  ExchangeTrial* trial_ = nullptr;      // of the first message
  std::vector<ExchangeTrial*> others_;  // of the other messages, each once
  ExchangeTrial::Turn turn_{};
  const void* thread_ = nullptr;  // identifies the thread that has begun it
  int messages_ = 0, under_way_ = 0;
  bool well_ = true;        // the time will tell something
  bool in_call_ = false;    // the thread is in a Call
  std::int64_t since_ = 0;  // when that call began
  std::int64_t time_ = 0;   // nanoseconds of earlier calls
};

}  // namespace dunnage::plan
