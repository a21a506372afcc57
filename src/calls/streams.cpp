#include "calls/streams.hpp"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <exception>

#include "calls/context.hpp"
#include "calls/landing.hpp"

namespace dunnage::calls {

using transport::Ticket;

namespace {

// Tags of the duplicate; those of pieces come after them.
constexpr int notice_tag = 0, trial_tag = 1, first_piece_tag = 2;

constexpr std::int64_t trial_sizes[] = {64 << 10, 32 << 10, 16 << 10, 8 << 10};  // pieces, from the best
constexpr std::int64_t most_asked = 16;  // pieces that a receiver asks for at a time

/// Whether a request of ours has ended. Lets it go on.
bool gone(MPI_Request& request) {
  int done = 0;
  return request == MPI_REQUEST_NULL || context->own.Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done;
}

std::int64_t pieces_of(std::int64_t size, std::uint32_t slot, std::int64_t piece) { return (size - transport::carried(slot) + piece - 1) / piece; }

}  // namespace

OutgoingStream::OutgoingStream(Streams& streams, std::uint32_t receiver, const Notice& notice, std::int64_t piece, engine::Staging memory)
    : streams_(streams), receiver_(receiver), notice_(notice), piece_(piece), memory_(std::move(memory)),
      requests_(1 + static_cast<std::size_t>(pieces_of(notice.size, notice.slot, piece)), MPI_REQUEST_NULL) {}

OutgoingStream::~OutgoingStream() { streams_.give_back(notice_.slot, notice_.size); }

Ticket OutgoingStream::ticket() const {
  return {Ticket::known_magic, notice_.serial, notice_.size, streams_.rank_, receiver_, notice_.slot, Ticket::pieces, {streams_.chance_[0], streams_.chance_[1]},
          static_cast<std::uint64_t>(piece_)};
}

void OutgoingStream::announce() {
  error_ = context->own.Isend(&notice_, sizeof notice_, MPI_BYTE, static_cast<int>(receiver_), notice_tag, streams_.comm_, requests_.data());
}

int OutgoingStream::send(const pack::Program& program, const void* buffer, MPI_Request& ticket) {
  std::size_t sent = 1;
  const auto place = [&](std::size_t i) { return static_cast<std::int64_t>(i - 1) * piece_; };
  const auto end_of = [&](std::size_t i) { return std::min(carried() + place(i) + piece_, notice_.size); };
  const auto send_until = [&](std::size_t packed) {
    for (; sent < packed && error_ == MPI_SUCCESS; ++sent)
      error_ = context->own.Isend(memory_.data() + place(sent), static_cast<int>(end_of(sent) - carried() - place(sent)), MPI_BYTE, static_cast<int>(receiver_),
                                  streams_.tag_of(notice_.serial), streams_.comm_, &requests_[sent]);
  };
  int matched = 0, rc = MPI_SUCCESS;
  for (std::size_t i = 1; i < requests_.size() && rc == MPI_SUCCESS; ++i) {
    program.pack(buffer, memory_.data() + place(i), carried() + place(i), end_of(i), pack::Stores::cached);
    if (!matched) rc = context->own.Test(&ticket, &matched, MPI_STATUS_IGNORE);
    if (matched) send_until(i + 1);
  }
  if (rc == MPI_SUCCESS && !matched) rc = context->own.Wait(&ticket, MPI_STATUS_IGNORE);
  if (rc != MPI_SUCCESS) return rc;
  send_until(requests_.size());
  auto finished = finished_;
  for (auto last = Streams::Clock::now(); !done();) {
    const auto now = Streams::Clock::now();
    if (finished_ != finished) {
      finished = finished_;
      last = now;
    } else if (now - last > Streams::patience) {  // an MPI that took pieces unasked does so no more
      context->stalls.fetch_add(1, std::memory_order_relaxed);
      streams_.stop();
      break;
    }
  }
  return error_;
}

bool OutgoingStream::done() {
  while (finished_ < requests_.size()) {
    int done = 0;
    const int rc = context->own.Test(&requests_[finished_], &done, MPI_STATUS_IGNORE);
    if (rc == MPI_SUCCESS && !done) return false;
    if (rc != MPI_SUCCESS) error_ = rc;
    ++finished_;
  }
  return true;
}

std::unique_ptr<Streams> Streams::join(std::uint64_t most) {
  const auto& own = context->own;
  int rank = 0, ranks = 0;
  MPI_Comm comm = MPI_COMM_NULL;
  if (own.Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS || own.Comm_size(MPI_COMM_WORLD, &ranks) != MPI_SUCCESS ||
      own.Comm_dup(MPI_COMM_WORLD, &comm) != MPI_SUCCESS)
    return nullptr;
  own.Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  std::unique_ptr<Streams> made(new Streams(comm, static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(ranks), most));
  int* most_tag = nullptr;
  int there = 0;
  if (own.Comm_get_attr(comm, MPI_TAG_UB, &most_tag, &there) == MPI_SUCCESS && there) made->most_tag_ = static_cast<std::uint64_t>(*most_tag);
  // Without chance a serial has to do, which a message would have to imitate on purpose.
  if (rank == 0 && getrandom(made->chance_, sizeof made->chance_, 0) < 0) made->chance_[0] = 0;
  own.Bcast(made->chance_, sizeof made->chance_, MPI_BYTE, 0, comm);
  return made;
}

int Streams::tag_of(std::uint64_t serial) const { return first_piece_tag + static_cast<int>(serial % (most_tag_ - first_piece_tag)); }

Streams::Peer& Streams::peer(std::uint32_t rank) {
  auto& peer = peers_[rank];
  if (!peer) peer = std::make_unique<Peer>();
  return *peer;
}

std::int64_t Streams::piece_for(std::uint32_t receiver, Peer& p) {
  static const std::array<char, trial_sizes[0]> nothing{};
  if (!p.tried) {
    p.tried = true;
    for (const auto size : trial_sizes) {
      Trial trial{size, MPI_REQUEST_NULL};
      if (context->own.Isend(nothing.data(), static_cast<int>(size), MPI_BYTE, static_cast<int>(receiver), trial_tag, comm_, &trial.request) == MPI_SUCCESS)
        p.trials.push_back(trial);
    }
  }
  // Once decided it stays so: those that the MPI did not take will be gone too when the receiver has cleared them away.
  for (std::size_t i = 0; p.piece == 0 && i < p.trials.size(); ++i) {
    int done = 0;
    if (context->own.Test(&p.trials[i].request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done) p.piece = p.trials[i].size;
  }
  return p.piece;
}

std::shared_ptr<OutgoingStream> Streams::offer(std::uint32_t receiver, std::int64_t size, int tag) {
  Notice notice{0, size, 0, tag, 0, 0};
  std::int64_t piece = 0;
  {
    const std::lock_guard lock(mutex_);
    if (receiver >= peers_.size() || receiver == rank_ || stopped_ || under_way_ + static_cast<std::uint64_t>(size) > most_) return nullptr;
    auto& p = peer(receiver);
    piece = piece_for(receiver, p);
    std::uint32_t tried = 0;
    const auto usable = [&](std::uint32_t slot) { return !taken_[slot] && !p.avoided[slot]; };
    while (tried < transport::slots && !usable(next_slot_)) ++tried, next_slot_ = (next_slot_ + 1) % transport::slots;
    if (piece == 0 || tried == transport::slots) return nullptr;
    notice.slot = next_slot_;
    notice.serial = p.next_serial++;
    taken_.set(notice.slot);
    under_way_ += static_cast<std::uint64_t>(size);
    next_slot_ = (next_slot_ + 1) % transport::slots;
  }
  auto memory = context->staging.take(size - transport::carried(notice.slot));
  if (!memory) {
    give_back(notice.slot, size);
    return nullptr;
  }
  return std::make_shared<OutgoingStream>(*this, receiver, notice, piece, std::move(memory));
}

void Streams::give_back(std::uint32_t slot, std::int64_t size) {
  const std::lock_guard lock(mutex_);
  taken_.reset(slot);
  under_way_ -= static_cast<std::uint64_t>(size);
}

void Streams::avoid(std::uint32_t receiver, std::int64_t length) {
  if (receiver >= peers_.size() || receiver == rank_ || !transport::host_lengths.has(length)) return;
  const auto slot = transport::host_lengths.slot(length);
  const std::lock_guard lock(mutex_);
  auto& p = peer(receiver);
  if (stopped_ || p.avoided[slot]) return;
  p.avoided.set(slot);
  std::erase_if(told_, [](auto& told) { return gone(told.second); });
  auto notice = std::make_unique<Notice>(Notice{0, 0, slot, 0, 1, 0});
  MPI_Request request = MPI_REQUEST_NULL;
  context->own.Isend(notice.get(), sizeof *notice, MPI_BYTE, static_cast<int>(receiver), notice_tag, comm_, &request);
  told_.emplace_back(std::move(notice), request);
}

bool Streams::recognise(const Ticket& ticket, std::int64_t length) {
  if (ticket.magic != Ticket::known_magic || ticket.way != Ticket::pieces || ticket.receiver != rank_ || ticket.sender >= peers_.size() ||
      ticket.slot >= transport::slots || length != transport::host_lengths.of(ticket.slot) || ticket.job[0] != chance_[0] || ticket.job[1] != chance_[1])
    return false;
  const std::lock_guard lock(mutex_);
  const auto& p = peer(ticket.sender);
  return ticket.serial >= p.fetched_below && !p.fetched.contains(ticket.serial);
}

bool Streams::fetch(const Ticket& ticket, Landing* landing) {
  const auto piece = static_cast<std::int64_t>(ticket.piece);
  const auto begin_of = [&](std::int64_t i) { return transport::carried(ticket.slot) + i * piece; };
  const auto bytes_of = [&](std::int64_t i) { return std::min(piece, ticket.size - begin_of(i)); };
  const auto n = pieces_of(ticket.size, ticket.slot, piece), window = std::min(n, most_asked);
  char* const user = landing ? landing->contiguous() : nullptr;
  const auto memory = user ? engine::Staging() : context->staging.take(window * piece);
  if (!user && !memory) return false;
  std::array<MPI_Request, most_asked> requests;
  requests.fill(MPI_REQUEST_NULL);
  bool well = true;
  std::exception_ptr failed;
  const auto request_of = [&](std::int64_t i) { return &requests[static_cast<std::size_t>(i % window)]; };
  const auto place_of = [&](std::int64_t i) { return user ? user + begin_of(i) : memory.data() + i % window * piece; };
  const auto ask = [&](std::int64_t i) {
    well = well && context->own.Irecv(place_of(i), static_cast<int>(bytes_of(i)), MPI_BYTE, static_cast<int>(ticket.sender), tag_of(ticket.serial), comm_,
                                      request_of(i)) == MPI_SUCCESS;
  };
  for (std::int64_t i = 0; i < window; ++i) ask(i);
  for (std::int64_t i = 0; i < n; ++i) {
    well = context->own.Wait(request_of(i), MPI_STATUS_IGNORE) == MPI_SUCCESS && well;
    if (well && !failed && landing && !user) try {
        landing->place(place_of(i), begin_of(i), begin_of(i) + bytes_of(i));
      } catch (const std::exception&) {  // told when all pieces are here
        failed = std::current_exception();
      }
    if (i + window < n) ask(i + window);
  }
  {
    const std::lock_guard lock(mutex_);
    auto& p = peer(ticket.sender);
    p.fetched.insert(ticket.serial);
    // A ticket that was never received (the MPI may have truncated it) is given up after so many others.
    constexpr std::size_t most_out_of_order = 4096;
    if (p.fetched.size() > most_out_of_order) p.fetched_below = *p.fetched.begin();
    while (p.fetched.erase(p.fetched_below)) ++p.fetched_below;
    hear(ticket.sender);
    take(static_cast<int>(ticket.sender), trial_tag);  // which have told their sender what it wanted to know
  }
  if (failed) std::rethrow_exception(failed);
  return well;
}

void Streams::hear(std::uint32_t sender) {
  auto& p = peer(sender);
  for (;;) {
    int there = 0;
    MPI_Status status;
    Notice notice;
    if (context->own.Iprobe(static_cast<int>(sender), notice_tag, comm_, &there, &status) != MPI_SUCCESS || !there) break;
    if (context->own.Recv(&notice, sizeof notice, MPI_BYTE, static_cast<int>(sender), notice_tag, comm_, MPI_STATUS_IGNORE) != MPI_SUCCESS) break;
    if (notice.ordinary)
      p.ordinary.set(notice.slot % transport::slots);
    else
      p.notices.push_back(notice);
  }
  std::erase_if(p.notices, [&](const Notice& n) { return n.serial < p.fetched_below || p.fetched.contains(n.serial); });
}

std::int64_t Streams::size_of(std::uint32_t sender, std::int64_t length, int tag, bool waits) {
  if (sender >= peers_.size() || sender == rank_ || !transport::host_lengths.has(length)) return length;
  const auto slot = transport::host_lengths.slot(length);
  const std::lock_guard lock(mutex_);
  if (comm_ == MPI_COMM_NULL) return length;
  auto& p = peer(sender);
  // The notice was sent before the message, so it is here, or about to be on a network that changes the order.
  for (const auto until = Clock::now() + std::chrono::milliseconds(10);;) {
    hear(sender);
    for (const auto& notice : p.notices)
      if (notice.slot == slot && notice.tag == tag) return notice.size;
    if (p.ordinary[slot] || !waits) return length;
    if (Clock::now() > until) break;
  }
  p.ordinary.set(slot);  // sent past us
  return length;
}

void Streams::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
}

void Streams::arrive_at_barrier() { context->own.Ibarrier(comm_, &barrier_); }

bool Streams::all_there() { return gone(barrier_); }

void Streams::take(int source, int tag) {
  std::vector<char> nowhere;
  for (;;) {
    int there = 0, bytes = 0;
    MPI_Status status;
    if (context->own.Iprobe(source, tag, comm_, &there, &status) != MPI_SUCCESS || !there) return;
    context->own.Get_count(&status, MPI_BYTE, &bytes);
    nowhere.resize(static_cast<std::size_t>(std::max(bytes, 1)));
    if (context->own.Recv(nowhere.data(), bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, comm_, MPI_STATUS_IGNORE) != MPI_SUCCESS) return;
  }
}

bool Streams::all_told() {
  const std::lock_guard lock(mutex_);
  std::erase_if(told_, [](auto& told) { return gone(told.second); });
  for (auto& p : peers_)
    if (p) std::erase_if(p->trials, [](auto& trial) { return gone(trial.request); });
  return told_.empty() && std::all_of(peers_.begin(), peers_.end(), [](const auto& p) { return !p || p->trials.empty(); });
}

void Streams::end() {
  const std::lock_guard lock(mutex_);
  context->own.Comm_free(&comm_);
  comm_ = MPI_COMM_NULL;
}

}  // namespace dunnage::calls
