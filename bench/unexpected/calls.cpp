#include "unexpected/calls.hpp"

#include <chrono>
#include <stdexcept>

namespace bench::unexpected {
namespace {

/// Tells the seconds since it was made or last asked.
class Watch {
 public:
  double lap() {
    const auto now = Clock::now();
    const std::chrono::duration<double> spent = now - last_;
    last_ = now;
    return spent.count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_ = Clock::now();
};

class Blocking : public Exchange {
 public:
  Blocking(const Messages& messages, int peer) : m_(messages), peer_(peer) {}
  Blocked on_time() override {
    Watch watch;
    for (int k = 0; k < m_.count(); ++k) MPI_Send(m_.to_send(k), m_.elements(), m_.type(), peer_, k, MPI_COMM_WORLD);
    return {watch.lap(), 0};
  }
  void late() override {
    for (int k = 0; k < m_.count(); ++k)
      MPI_Recv(m_.received(k), m_.elements(), m_.type(), peer_, k, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }

 private:
  const Messages& m_;
  const int peer_;
};

class Nonblocking : public Exchange {
 public:
  Nonblocking(const Messages& messages, int peer)
      : m_(messages), peer_(peer), requests_(static_cast<std::size_t>(messages.count())) {}
  Blocked on_time() override {
    Watch watch;
    for (int k = 0; k < m_.count(); ++k)
      MPI_Isend(m_.to_send(k), m_.elements(), m_.type(), peer_, k, MPI_COMM_WORLD, request(k));
    const double calls = watch.lap();
    MPI_Waitall(m_.count(), requests_.data(), MPI_STATUSES_IGNORE);
    return {calls, watch.lap()};
  }
  void late() override {
    for (int k = 0; k < m_.count(); ++k)
      MPI_Irecv(m_.received(k), m_.elements(), m_.type(), peer_, k, MPI_COMM_WORLD, request(k));
    MPI_Waitall(m_.count(), requests_.data(), MPI_STATUSES_IGNORE);
  }

 private:
  MPI_Request* request(int k) { return &requests_[static_cast<std::size_t>(k)]; }
  const Messages& m_;
  const int peer_;
  std::vector<MPI_Request> requests_;
};

class Persistent : public Exchange {
 public:
  Persistent(const Messages& m, int peer, bool sends) : requests_(static_cast<std::size_t>(m.count())) {
    for (int k = 0; k < m.count(); ++k) {
      auto* const request = &requests_[static_cast<std::size_t>(k)];
      if (sends)
        MPI_Send_init(m.to_send(k), m.elements(), m.type(), peer, k, MPI_COMM_WORLD, request);
      else
        MPI_Recv_init(m.received(k), m.elements(), m.type(), peer, k, MPI_COMM_WORLD, request);
    }
  }
  ~Persistent() override {
    for (auto& request : requests_) MPI_Request_free(&request);
  }
  Blocked on_time() override {
    Watch watch;
    MPI_Startall(count(), requests_.data());
    const double calls = watch.lap();
    MPI_Waitall(count(), requests_.data(), MPI_STATUSES_IGNORE);
    return {calls, watch.lap()};
  }
  void late() override { on_time(); }

 private:
  int count() const { return static_cast<int>(requests_.size()); }
  std::vector<MPI_Request> requests_;
};

class BothWays : public Exchange {
 public:
  BothWays(const Messages& messages, int peer) : m_(messages), peer_(peer) {}
  Blocked on_time() override {
    Watch watch;
    for (int k = 0; k < m_.count(); ++k)
      MPI_Sendrecv(m_.to_send(k), m_.elements(), m_.type(), peer_, k, m_.received(k), m_.elements(), m_.type(), peer_,
                   k, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return {watch.lap(), 0};
  }
  void late() override { on_time(); }
  bool both_ways() const override { return true; }

 private:
  const Messages& m_;
  const int peer_;
};

}  // namespace

const std::vector<std::string>& call_names() {
  static const std::vector<std::string> names{"send", "isend", "persistent", "sendrecv"};
  return names;
}

std::unique_ptr<Exchange> make_exchange(const std::string& name, const Messages& messages, int peer, bool sends) {
  if (name == "send") return std::make_unique<Blocking>(messages, peer);
  if (name == "isend") return std::make_unique<Nonblocking>(messages, peer);
  if (name == "persistent") return std::make_unique<Persistent>(messages, peer, sends);
  if (name == "sendrecv") return std::make_unique<BothWays>(messages, peer);
  throw std::invalid_argument("no such call: " + name);
}

}  // namespace bench::unexpected
