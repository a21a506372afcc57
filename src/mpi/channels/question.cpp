#include "mpi/channels/question.hpp"

#include <chrono>

#include "mpi/message/orphans.hpp"
#include "mpi/message/stage.hpp"
#include "mpi/process/failure.hpp"

namespace dunnage::mpi {
namespace {

/// Every MPI sends so many bytes with the message itself.
constexpr std::int64_t surely_short = 2048;

/// How often long questions were not answered in time. Questions that are late together count once.
class Stalls {
 public:
  bool are_too_many() const { return number_ >= most; }
  void count(std::chrono::steady_clock::time_point now, std::chrono::steady_clock::time_point until) {
    if (until <= counted_) return;  // it began before the last stall was counted
    ++number_;
    counted_ = now + most_for_answer;
  }

 private:
  static constexpr unsigned most = 4;
  unsigned number_ = 0;
  std::chrono::steady_clock::time_point counted_{};
};
Stalls stalls;

/// The message, until its receive has begun.
class Question : public Request {
 public:
  Question(const std::shared_ptr<OutChannel>& channel, std::uint64_t message, memory::Parcel parcel)
      : channel_(channel), receiver_(channel->receiver()), message_(message), parcel_(std::move(parcel)) {}
  ~Question() override {
    if (const auto channel = channel_.lock()) channel->asked(std::nullopt);
  }
  const memory::Parcel& parcel() const { return parcel_; }
  /// The program takes the message for sent.
  bool promised() const override { return process->world && !process->world->finalizes(receiver_); }

 protected:
  int arrive(MPI_Status&) override {
    if (const auto channel = channel_.lock()) channel->matched(message_);
    return MPI_SUCCESS;
  }

 private:
  const std::weak_ptr<OutChannel> channel_;
  const std::uint32_t receiver_;
  const std::uint64_t message_;
  const memory::Parcel parcel_;
};

/// Whether the MPI completes a message soon. If the receive has begun, it takes a few microseconds.
/// Later the receiver may have begun further receives, and then the answer tells nothing.
bool completes_soon(MPI_Request& request) {
  constexpr std::chrono::microseconds soon{5};
  const auto end = std::chrono::steady_clock::now() + soon;
  int done = 0;
  do {
    if (process->own.Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
  } while (!done && std::chrono::steady_clock::now() < end);
  return done != 0;
}

}  // namespace

Asked ask_by_mpi(const std::shared_ptr<OutChannel>& channel, std::uint64_t message, const memory::Buffer& buffer,
                 int dest, int tag, MPI_Comm comm, bool nonblocking) {
  if (buffer.device() || buffer.size() > transport::gpu::most_put) return Asked::no;
  const bool is_short = buffer.size() <= surely_short;
  if (!is_short && (!nonblocking || stalls.are_too_many())) return Asked::no;
  std::unique_ptr<Question> question;
  const int code = guarded([&] {
    auto parcel = parcel_for(buffer, plan::Operation::send, buffer.size());
    if (parcel && gather(parcel, buffer) == MPI_SUCCESS)
      question = std::make_unique<Question>(channel, message, std::move(parcel));
  });
  if (code != MPI_SUCCESS || !question) return Asked::no;
  const Shown shown(question->parcel());
  MPI_Request request = MPI_REQUEST_NULL;
  const int rc =
      process->own.Issend(shown.data(), static_cast<int>(shown.count()), shown.type(), dest, tag, comm, &request);
  if (rc != MPI_SUCCESS) return Asked::no;
  if (channel->waits_for_answer() && completes_soon(request)) {
    channel->matched(message);
    return Asked::sent;
  }
  channel->asked(message);
  adopt_orphan(request, std::move(question));
  return is_short ? Asked::sent : Asked::under_way;
}

bool question_ended(const OutChannel& channel, std::uint64_t message, std::chrono::steady_clock::time_point until) {
  progress_orphans();
  if (!channel.is_asked(message)) return true;
  const auto now = std::chrono::steady_clock::now();
  if (now < until) return false;
  stalls.count(now, until);
  return true;
}

}  // namespace dunnage::mpi
