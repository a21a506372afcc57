// Packing by hand into buffers, and messages of these buffers.
#include <algorithm>
#include <map>

#include "halo/exchange.hpp"

namespace bench::halo {
namespace {

BoxMove to_buffer(const Domain& domain, int variable, const Box& box, double* buffer) {
  const auto& side = domain.sides();
  return {domain.at(variable, box.begin),
          buffer,
          {box.length[0], box.length[1], box.length[2]},
          {side[0], long{side[0]} * side[1]},
          {box.length[0], long{box.length[0]} * box.length[1]}};
}
BoxMove from_buffer(const Domain& domain, int variable, const Box& box, double* buffer) {
  auto move = to_buffer(domain, variable, box, buffer);
  std::swap(move.from_stride, move.to_stride);
  move.from = buffer;
  move.to = domain.at(variable, box.begin);
  return move;
}

class Packed : public Exchange {
 public:
  Packed(Domain& domain, Mover& mover, Packing packing)
      : comm_(domain.comm()),
        mover_(mover),
        size_(static_cast<std::size_t>(domain.exchanged_bytes())),
        out_(mover.where(), size_),
        in_(mover.where(), size_) {
    // Both sides of a message have its regions in one order: by the tag of the sender.
    auto by_send = domain.regions(), by_receive = domain.regions();
    std::sort(by_send.begin(), by_send.end(), [](const auto& a, const auto& b) { return a.send_tag < b.send_tag; });
    std::sort(by_receive.begin(), by_receive.end(),
              [](const auto& a, const auto& b) { return a.receive_tag < b.receive_tag; });
    if (packing == Packing::message_a_peer) {
      const auto by_peer = [](const auto& a, const auto& b) { return a.peer < b.peer; };
      std::stable_sort(by_send.begin(), by_send.end(), by_peer);
      std::stable_sort(by_receive.begin(), by_receive.end(), by_peer);
    }
    std::vector<BoxMove> packs, unpacks;
    const auto add = [&](const std::vector<Region>& regions, bool send) {
      auto* place = reinterpret_cast<double*>((send ? out_ : in_).place().at);
      auto& messages = send ? sends_ : receives_;
      auto& moves = send ? packs : unpacks;
      for (const auto& region : regions) {
        const auto& box = send ? region.inner : region.ghost;
        const bool follows =
            packing == Packing::message_a_peer && !messages.empty() && messages.back().peer == region.peer;
        for (int v = 0; v < domain.variables(); ++v, place += box.cells()) {
          if (v > 0 || follows)
            messages.back().doubles += static_cast<int>(box.cells());
          else
            messages.push_back({place, static_cast<int>(box.cells()), region.peer,
                                packing == Packing::message_a_peer ? 0
                                : send                             ? region.send_tag
                                                                   : region.receive_tag});
          moves.push_back(send ? to_buffer(domain, v, box, place) : from_buffer(domain, v, box, place));
        }
      }
    };
    add(by_send, true);
    add(by_receive, false);
    const auto launches = [&](const std::vector<BoxMove>& moves, std::vector<Moves>& into) {
      const std::size_t each = packing == Packing::kernel_each ? 1 : moves.size();
      for (std::size_t i = 0; i < moves.size(); i += each)
        into.emplace_back(mover.where(), std::vector<BoxMove>(moves.begin() + static_cast<std::ptrdiff_t>(i),
                                                              moves.begin() + static_cast<std::ptrdiff_t>(i + each)));
    };
    launches(packs, packs_);
    launches(unpacks, unpacks_);
    requests_.resize(sends_.size() + receives_.size());
  }

  void exchange(Phases& phases) override {
    auto request = requests_.begin();
    for (const auto& m : receives_) MPI_Irecv(m.at, m.doubles, MPI_DOUBLE, m.peer, m.tag, comm_, &*request++);
    phases.end("post-recv");
    for (const auto& pack : packs_) mover_.begin(pack);
    mover_.wait();
    phases.end("pack");
    for (const auto& m : sends_) MPI_Isend(m.at, m.doubles, MPI_DOUBLE, m.peer, m.tag, comm_, &*request++);
    phases.end("post-send");
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    phases.end("wait");
    for (const auto& unpack : unpacks_) mover_.begin(unpack);
    mover_.wait();
    phases.end("unpack");
  }

 private:
  struct Message {
    double* at;
    int doubles, peer, tag;
  };
  MPI_Comm comm_;
  Mover& mover_;
  const std::size_t size_;
  const Memory out_, in_;
  std::vector<Message> sends_, receives_;
  std::vector<Moves> packs_, unpacks_;
  std::vector<MPI_Request> requests_;
};

}  // namespace

std::unique_ptr<Exchange> make_packed(Domain& domain, Mover& mover, Packing packing) {
  return std::make_unique<Packed>(domain, mover, packing);
}

}  // namespace bench::halo
