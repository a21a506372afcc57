#include "regressions/calls.hpp"

#include <array>

#include "common/past.hpp"

namespace bench::regressions {
namespace {

struct Functions {
  decltype(&MPI_Pack) pack;
  decltype(&MPI_Unpack) unpack;
  decltype(&MPI_Send) send;
  decltype(&MPI_Bsend) bsend;
  decltype(&MPI_Recv) recv;
  decltype(&MPI_Isend) isend;
  decltype(&MPI_Irecv) irecv;
  decltype(&MPI_Wait) wait;
  decltype(&MPI_Sendrecv) sendrecv;
  decltype(&MPI_Send_init) send_init;
  decltype(&MPI_Recv_init) recv_init;
  decltype(&MPI_Start) start;
  decltype(&MPI_Request_free) request_free;
  decltype(&MPI_Bcast) bcast;
};

const Functions& functions(Way way) {
  static const Functions plain{BENCH_PAST(MPI_Pack),         BENCH_PAST(MPI_Unpack),    BENCH_PAST(MPI_Send),
                               BENCH_PAST(MPI_Bsend),        BENCH_PAST(MPI_Recv),      BENCH_PAST(MPI_Isend),
                               BENCH_PAST(MPI_Irecv),        BENCH_PAST(MPI_Wait),      BENCH_PAST(MPI_Sendrecv),
                               BENCH_PAST(MPI_Send_init),    BENCH_PAST(MPI_Recv_init), BENCH_PAST(MPI_Start),
                               BENCH_PAST(MPI_Request_free), BENCH_PAST(MPI_Bcast)};
  static const Functions dunnage{MPI_Pack,      MPI_Unpack, MPI_Send,         MPI_Bsend,    MPI_Recv,
                                 MPI_Isend,     MPI_Irecv,  MPI_Wait,         MPI_Sendrecv, MPI_Send_init,
                                 MPI_Recv_init, MPI_Start,  MPI_Request_free, MPI_Bcast};
  return way == Way::plain ? plain : dunnage;
}

constexpr int tag = 1, answer_tag = 2;
const MPI_Comm world = MPI_COMM_WORLD;

class Base : public Call {
 public:
  Base(Subject& subject, int rank) : s(subject), rank(rank) {}

 protected:
  Subject& s;
  const int rank;

  int other() const { return 1 - rank; }
  /// Tells rank 0 that rank 1 has the data.
  void answer(const Functions& f) {
    if (rank == 0)
      f.recv(nullptr, 0, MPI_BYTE, 1, answer_tag, world, MPI_STATUS_IGNORE);
    else
      f.send(nullptr, 0, MPI_BYTE, 0, answer_tag, world);
  }
};

class Pack final : public Base {
 public:
  using Base::Base;
  void once(Way way) override {
    int position = 0;
    if (rank == 0)
      functions(way).pack(s.from(), s.count(), s.type(), s.packed(), static_cast<int>(s.payload()), &position, world);
  }
  bool right(Way way) override {
    s.poison();
    once(way);
    return rank != 0 || s.right_packed();
  }
};

class Unpack final : public Base {
 public:
  using Base::Base;
  void once(Way way) override {
    int position = 0;
    if (rank == 0)
      functions(way).unpack(s.packed(), static_cast<int>(s.payload()), &position, s.to(), s.count(), s.type(), world);
  }
  bool right(Way way) override {
    s.poison();
    Pack(s, rank).once(Way::plain);
    once(way);
    return rank != 0 || s.right_to();
  }
};

/// Rank 1 receives from rank 0, or both from each other.
class Message : public Base {
 public:
  using Base::Base;
  bool right(Way way) override {
    s.poison();
    once(way);
    return rank == 0 || s.right_to();
  }
};

template <auto Functions::*function>
class Blocking : public Message {
 public:
  using Message::Message;
  void once(Way way) override {
    const auto& f = functions(way);
    if (rank == 0)
      (f.*function)(s.from(), s.count(), s.type(), 1, tag, world);
    else
      f.recv(s.to(), s.count(), s.type(), 0, tag, world, MPI_STATUS_IGNORE);
    answer(f);
  }
};

/// Gives the MPI memory for buffered sends while it lives.
class Bsend final : public Blocking<&Functions::bsend> {
 public:
  Bsend(Subject& subject, int rank)
      : Blocking(subject, rank), memory_(subject.payload() + MPI_BSEND_OVERHEAD + 4096, 3) {
    MPI_Buffer_attach(memory_.data(), static_cast<int>(memory_.size()));
  }
  ~Bsend() override {
    void* memory;
    int size;
    MPI_Buffer_detach(&memory, &size);
  }

 private:
  Buffer memory_;
};

class Nonblocking final : public Message {
 public:
  using Message::Message;
  void once(Way way) override {
    const auto& f = functions(way);
    MPI_Request request;
    if (rank == 0)
      f.isend(s.from(), s.count(), s.type(), 1, tag, world, &request);
    else
      f.irecv(s.to(), s.count(), s.type(), 0, tag, world, &request);
    f.wait(&request, MPI_STATUS_IGNORE);
    answer(f);
  }
};

class Persistent final : public Message {
 public:
  Persistent(Subject& subject, int rank) : Message(subject, rank) {
    for (const auto way : {Way::plain, Way::dunnage}) {
      const auto& f = functions(way);
      if (rank == 0)
        f.send_init(s.from(), s.count(), s.type(), 1, tag, world, &request(way));
      else
        f.recv_init(s.to(), s.count(), s.type(), 0, tag, world, &request(way));
    }
  }
  ~Persistent() override {
    for (const auto way : {Way::plain, Way::dunnage}) functions(way).request_free(&request(way));
  }
  void once(Way way) override {
    const auto& f = functions(way);
    f.start(&request(way));
    f.wait(&request(way), MPI_STATUS_IGNORE);
    answer(f);
  }

 private:
  MPI_Request& request(Way way) { return requests_[static_cast<std::size_t>(way)]; }
  std::array<MPI_Request, 2> requests_{};
};

class Sendrecv final : public Message {
 public:
  using Message::Message;
  void once(Way way) override {
    functions(way).sendrecv(s.from(), s.count(), s.type(), other(), tag, s.to(), s.count(), s.type(), other(), tag,
                            world, MPI_STATUS_IGNORE);
  }
  bool right(Way way) override { return Message::right(way) && s.right_to(); }
};

class Bcast final : public Message {
 public:
  using Message::Message;
  void once(Way way) override {
    const auto& f = functions(way);
    f.bcast(rank == 0 ? s.from() : s.to(), s.count(), s.type(), 0, world);
    answer(f);
  }
};

template <class T>
std::unique_ptr<Call> make(Subject& subject, int rank) {
  return std::make_unique<T>(subject, rank);
}

}  // namespace

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> table = {
      {"pack", make<Pack>},         {"unpack", make<Unpack>},     {"send", make<Blocking<&Functions::send>>},
      {"isend", make<Nonblocking>}, {"sendrecv", make<Sendrecv>}, {"persistent", make<Persistent>},
      {"bsend", make<Bsend>},       {"bcast", make<Bcast>},
  };
  return table;
}

}  // namespace bench::regressions
