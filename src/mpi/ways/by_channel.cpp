#include "mpi/ways/by_channel.hpp"

#include "mpi/message/accept.hpp"
#include "mpi/message/gpu_shared.hpp"
#include "mpi/message/progress.hpp"
#include "mpi/process/arrivals.hpp"
#include "transport/shm/patience.hpp"

namespace dunnage::mpi {
namespace {

int take(OutLine& line, const SendCall& call) {
  const EdgeData data{call.buffer, call.count, call.type};
  return line.take({&data, 1});
}

constexpr auto no_question = [](const std::shared_ptr<OutChannel>&, std::uint64_t) { return Asked::no; };

}  // namespace

int ByChannel::announce(Hook hook) const {
  if (!line) return MPI_SUCCESS;
  const bool buffered = operation_of(hook) == plan::Operation::buffered_send;
  const int code = buffered ? line->announce_copy(exchange) : rung ? MPI_SUCCESS : line->announce(exchange);
  if (process->reporting) line->count_ways(hook);
  return code;
}

int ByChannel::announce(const SendCall& call) const {
  if (rung) return announce(call.hook);
  const int taken = take(*line, call);
  const int code = announce(call.hook);  // after an error, too: the receiver must hear of it
  return taken != MPI_SUCCESS ? taken : code;
}

void ByChannel::wait() const {
  unsigned rounds = 0;
  for (transport::shm::Patience patience; !ended(); patience.wait()) {
    progress_receives();
    if (++rounds % polls_between == 0) let_mpi_progress();
  }
}

std::optional<ByChannel> by_channel(const std::shared_ptr<Streams>& streams, int dest, int tag,
                                    transport::ChannelStamp& stamp, base::FunctionRef<int(OutLine&)> take, Ask ask) {
  auto* channel = streams ? streams->use_to(dest, tag) : nullptr;
  if (!channel) return std::nullopt;
  channel->wait_a_little();
  const auto message = channel->send(take);
  if (message.awaited)
    return ByChannel{channel, &channel->line(message), exchange_of(message.number), message.rung, streams};
  if (channel->is_useless()) {
    streams->leave_to(dest, tag);
    return std::nullopt;
  }
  const auto asked = channel->asks() ? ask(streams->shared_to(dest, tag), message.number) : Asked::no;
  if (asked != Asked::no) {
    ByChannel by{channel, nullptr, exchange_of(message.number), true, streams};
    if (asked == Asked::under_way) by.until = std::chrono::steady_clock::now() + most_for_answer;
    return by;
  }
  stamp = channel->stamp(message.number);
  return std::nullopt;
}

namespace {

/// Asks the MPI what it thinks of arguments that may be wrong. Returns an MPI error code; the error
/// handler has then been called.
int check(const SendCall& call) {
  const auto* known = known_type(call.type);
  if (known && call.count >= 0 && (call.buffer || known->layout().true_lb != 0)) return MPI_SUCCESS;
  if (call.count > std::numeric_limits<int>::max()) return MPI_SUCCESS;
  return process->own.Send(call.buffer, static_cast<int>(call.count), call.type, MPI_PROC_NULL, call.tag, call.comm);
}

std::optional<ByChannel> by_channel(const SendCall& call, transport::ChannelStamp& stamp, int& refused,
                                    base::FunctionRef<int(OutLine&)> take, Ask ask) {
  if (!channels_in_use() || call.apart || call.dest < 0) return std::nullopt;
  const auto streams = Streams::of(call.comm, false);
  if (!streams || !streams->to(call.dest, call.tag)) return std::nullopt;
  refused = check(call);
  return refused == MPI_SUCCESS ? by_channel(streams, call.dest, call.tag, stamp, take, ask) : std::nullopt;
}

}  // namespace

std::optional<ByChannel> by_channel(const SendCall& call, transport::ChannelStamp& stamp, int& refused,
                                    device::Looks::Span span) {
  if (mode_of(call.hook) == Mode::buffered)
    return by_channel(
        call, stamp, refused, [](OutLine&) { return MPI_ERR_OTHER; }, no_question);  // a copy is announced
  const device::Looks looks(span);
  const auto asking = [&](const std::shared_ptr<OutChannel>& channel, std::uint64_t message) {
    const auto* known = known_type(call.type);
    if (mode_of(call.hook) != Mode::standard || !known || !may_go_packed(*known)) return Asked::no;
    memory::Buffer buffer;
    const int code = guarded([&] { buffer = buffer_of(const_cast<void*>(call.buffer), call.count, call.type); });
    if (code != MPI_SUCCESS) return Asked::no;
    avoid_length(call.count, call.type, call.dest, call.comm);
    const bool nonblocking = span == device::Looks::Span::operations;
    return ask_by_mpi(channel, message, buffer, call.dest, call.tag, call.comm, nonblocking);
  };
  return by_channel(
      call, stamp, refused, [&](OutLine& line) { return take(line, call); }, asking);
}

void learn(const std::shared_ptr<Streams>& streams, int dest, int tag, transport::Outbound& message) {
  if (!streams || message.stamp || !message.buffer.device()) return;
  const bool to_itself = static_cast<int>(message.receiver) == process->rank;
  if (to_itself ? !read_in_place_by_this(*message.buffer.device()) : message.gpu_way != plan::GpuWay::direct) return;
  if (auto* channel = streams->learn(dest, tag, message.receiver, message.buffer.device()->place))
    message.stamp = channel->stamp(channel->send().number);
}

int dest_by_mpi(const SendCall& call, int& error) {
  transport::ChannelStamp stamp;
  const auto by = by_channel(
      call, stamp, error, [](OutLine&) { return MPI_ERR_OTHER; }, no_question);
  if (!by) return call.dest;
  const EdgeData data{call.buffer, call.count, call.type};
  const int taken = by->line->take({&data, 1});
  const int code = by->line->announce_copy(by->exchange);  // the buffer may change meanwhile
  error = raise_failure(call.comm, taken != MPI_SUCCESS ? taken : code);
  return MPI_PROC_NULL;
}

}  // namespace dunnage::mpi
