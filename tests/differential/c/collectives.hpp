// Collectives. Every rank gives blocks of stream_of() data; a rank tells the hash of what it got.
#pragma once

#include "messages.hpp"

class Collective {
 public:
  explicit Collective(const Statement& s) : s_(s), comm_(comm_of(s)), count_(int(s.number("count"))) {
    PMPI_Comm_rank(comm_, &rank_);
    PMPI_Comm_size(comm_, &ranks_);
  }

  void run() {
    const std::string& verb = s_.verb;
    if (verb == "barrier") return done(MPI_Barrier(comm_));
    if (verb == "bcast") return bcast();
    if (verb == "allreduce") return allreduce();
    const std::string prefix = "neighbor_";
    const bool neighbours = verb.rfind(prefix, 0) == 0;
    peers_ = neighbours ? 2 : ranks_;  // of a ring
    exchange(neighbours ? verb.substr(prefix.size()) : verb, neighbours);
  }

 private:
  static void done(int code) { note("code", class_name(code)); }
  std::unique_ptr<Memory> memory(long elements) const {
    return std::make_unique<Memory>(s_.text("type", "byte"), elements, "", s_.text("in"));
  }
  static void tell(int code, const Memory& memory) {
    done(code);
    if (code == MPI_SUCCESS) note("data", std::to_string(hash_of(memory.packed()) % 1000000));
    note("rest", memory.clean_beyond(memory.size()) ? "clean" : "touched");
  }
  unsigned long seed() const { return seed_of(s_.line, rank_, 0); }

  void bcast() {
    const auto data = std::make_unique<Memory>(s_.text("type", "byte"), count_, s_.text("at"), s_.text("in"));
    const int root = int(s_.number("root"));
    if (s_.text("at") == "null") return done(MPI_Bcast(data->address, data->count, data->type, root, comm_));
    if (rank_ == root) data->fill(seed());
    if (s_.has("nonblocking")) {
      MPI_Request request;
      int code = MPI_Ibcast(data->address, data->count, data->type, root, comm_, &request);
      if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
      return tell(code, *data);
    }
    tell(MPI_Bcast(data->address, data->count, data->type, root, comm_), *data);
  }

  void allreduce() {
    const auto mine = memory(count_), sum = memory(count_);
    mine->fill(seed());
    tell(MPI_Allreduce(mine->address, sum->address, count_, mine->type, MPI_BXOR, comm_), *sum);
  }

  /// Elements that rank `from` has for its peer number `to`. All ranks of a ring have the same.
  int part(int from, int to) const { return peers_ == 2 && ranks_ > 2 ? count_ + to % 2 : count_ + (from + to) % 3; }

  void exchange(const std::string& call, bool neighbours) {
    const bool gather = call == "allgather" || call == "allgatherv";
    const bool uneven = call.back() == 'v' || call.back() == 'w';
    std::vector<int> send, receive, send_at, receive_at;
    int sent = 0, got = 0;
    for (int p = 0; p < peers_; ++p) {
      // On a ring the left neighbour's second block is for us, and the right neighbour's first.
      send.push_back(uneven && !gather ? part(rank_, p) : count_);
      receive.push_back(!uneven      ? count_
                        : neighbours ? count_ + (gather ? 0 : (p + 1) % 2)
                        : gather     ? count_ + p
                                     : part(p, rank_));
      send_at.push_back(sent);
      receive_at.push_back(got);
      sent += send.back();
      got += receive.back();
    }
    const int own = gather ? (uneven && !neighbours ? count_ + rank_ : count_) : 0;
    const auto out = memory(gather ? own : sent), in = memory(got);
    out->fill(seed());
    MPI_Aint lb, extent;
    PMPI_Type_get_extent(out->type, &lb, &extent);
    void *from = out->address, *to = in->address;
    const MPI_Datatype t = out->type, u = in->type;
    int code = MPI_SUCCESS;
    if (call == "allgather")
      code = neighbours ? MPI_Neighbor_allgather(from, own, t, to, count_, u, comm_)
                        : MPI_Allgather(from, own, t, to, count_, u, comm_);
    if (call == "allgatherv")
      code = neighbours ? MPI_Neighbor_allgatherv(from, own, t, to, receive.data(), receive_at.data(), u, comm_)
                        : MPI_Allgatherv(from, own, t, to, receive.data(), receive_at.data(), u, comm_);
    if (call == "alltoall")
      code = neighbours ? MPI_Neighbor_alltoall(from, count_, t, to, count_, u, comm_)
                        : MPI_Alltoall(from, count_, t, to, count_, u, comm_);
    if (call == "alltoallv")
      code = neighbours
                 ? MPI_Neighbor_alltoallv(from, send.data(), send_at.data(), t, to, receive.data(), receive_at.data(),
                                          u, comm_)
                 : MPI_Alltoallv(from, send.data(), send_at.data(), t, to, receive.data(), receive_at.data(), u, comm_);
    if (call == "alltoallw") {
      const Types types(std::size_t(peers_), t), others(std::size_t(peers_), u);
      if (neighbours) {
        Aints send_bytes, receive_bytes;
        for (int at : send_at) send_bytes.push_back(at * extent);
        for (int at : receive_at) receive_bytes.push_back(at * extent);
        code = MPI_Neighbor_alltoallw(from, send.data(), send_bytes.data(), types.data(), to, receive.data(),
                                      receive_bytes.data(), others.data(), comm_);
      } else {
        for (int& at : send_at) at = int(at * extent);
        for (int& at : receive_at) at = int(at * extent);
        code = MPI_Alltoallw(from, send.data(), send_at.data(), types.data(), to, receive.data(), receive_at.data(),
                             others.data(), comm_);
      }
    }
    tell(code, *in);
  }

  const Statement& s_;
  MPI_Comm comm_;
  int count_, rank_ = 0, ranks_ = 1, peers_ = 1;
};
