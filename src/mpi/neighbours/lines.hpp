// The lines of one operation: all edges that go to ranks of this host, or come from there. With
// them an exchange needs no message, and one launch if its data come in time.
#pragma once

#include <memory>

#include "mpi/lines/in_line.hpp"
#include "mpi/lines/out_line.hpp"
#include "mpi/neighbours/local_moves.hpp"

namespace dunnage::mpi {

/// A line that this rank has published.
class PublishedLine : public OutLine {
 public:
  PublishedLine(std::uint32_t receiver, std::vector<std::size_t> edges, const Published& place)
      : OutLine(receiver, std::move(edges), place.data), place_(place) {}
  ~PublishedLine();
  /// The receiver has no use for the line. Then it must be destroyed.
  void refused() { refused_ = true; }

 private:
  const Published place_;
  bool refused_ = false;
};

/// A line that another rank has published.
class FoundLine : public InLine {
 public:
  FoundLine(std::uint32_t sender, std::vector<std::size_t> edges, transport::shm::Reading place)
      : InLine(sender, std::move(edges), place.data()),
        place_(std::make_unique<transport::shm::Reading>(std::move(place))) {}
  ~FoundLine();

 private:
  std::unique_ptr<transport::shm::Reading> place_;
};

/// Not thread-safe: exchanges of one operation come one after the other.
class Lines {
 public:
  /// Connects this rank with its neighbours, which all call it at a time. `persistent`: the buffers
  /// of all exchanges; null if each exchange brings its own. Returns null if there are no lines.
  static std::shared_ptr<Lines> connect(const Neighbourhood& hood, MPI_Comm messages, const Edges* persistent);

  /// This rank cannot take part in the next exchange.
  void skip() { ++exchange_; }
  /// Begins an exchange, which is counted as a call of `hook`. `edges`: its buffers; null if they
  /// are persistent. Returns an MPI error code. After an error the exchange must be given up.
  int begin(Hook hook, const Edges* edges);
  /// Whether this exchange needs no message for a target, and none for a source. Of a source it
  /// may turn out later that it needs one.
  bool announced(std::size_t target) const { return announced_[target]; }
  bool watched(std::size_t source) const { return watched_[source]; }
  /// Whether one of them is so.
  bool in_use() const { return in_use_; }

  /// Goes on with the receives. What comes as messages is told by calling receive(source). `moves`
  /// go in one launch with the data if that is possible; it is null if there are none, or if they
  /// have been begun. Calls note(code) for each error. Returns whether `moves` can be begun by
  /// themselves, if they have not been done.
  enum class Moves { wait, begin, done };
  template <class Receive, class Note>
  Moves go_on(const std::shared_ptr<LocalMoves>& moves, Receive&& receive, Note&& note) {
    bool all_told = true;
    for (auto& line : in_) {
      if (line->ended()) continue;
      const auto news = line->news();
      if (news == InLine::News::none) all_told = false;
      if (news == InLine::News::messages)
        for (const auto edge : line->edges()) receive(edge);
    }
    if (!all_told && !fetching_ && std::chrono::steady_clock::now() < begun_ + moment_) return Moves::wait;
    return bring(moves, all_told, note);
  }
  /// Whether the exchange waits for others, and looking at them would find nothing new. Costs a few
  /// loads for each line.
  bool quiet() const;
  /// Whether all data have come that come by lines.
  bool received() const;
  /// Whether all targets have what was announced.
  bool sent();
  /// Whether a rank is gone for which this exchange waits. Asks the kernel.
  bool forsaken() const;
  /// The exchange has failed: what was announced must not be read any more when this returns.
  void give_up();

 private:
  /// What brings all data of an exchange, planned once.
  struct Plan {
    std::vector<std::uint64_t> described;  // of each line
    std::shared_ptr<LocalMoves> moves;
    struct Range {
      pack::gpu::Described from, to;
      std::int64_t size;
    };
    std::vector<Range> ranges;
    /// What the senders' memory is mapped by. A sender may free it, and then its mapping must end.
    std::vector<std::weak_ptr<const device::Import>> mappings;
    std::optional<pack::gpu::PreparedMoves> prepared;  // nothing if there can be no such plan
    CUcontext context = nullptr;
    std::int64_t bytes = 0;
  };
  /// For that long an exchange waits for all its neighbours, so that their data share a launch.
  void find_moment();
  /// Announces this rank's data to its neighbours.
  void begin_sends(Hook hook, const Edges* edges);
  /// Gets ready for the neighbours' data. Returns an MPI error code.
  int begin_receives(const Edges* edges);
  Moves bring(const std::shared_ptr<LocalMoves>& moves, bool all_told, const std::function<void(int)>& note);
  bool all_rung() const;
  bool plan_fits(const std::shared_ptr<LocalMoves>& moves) const;
  /// Whether there is a plan for this exchange, which is made if necessary. Keeps the mappings.
  bool planned(const std::shared_ptr<LocalMoves>& moves);
  bool keep_mappings();
  void make_plan(const std::shared_ptr<LocalMoves>& moves);
  bool add_to_plan(const InLine& line);
  /// Calls `moved` as soon as the data are there.
  void run_plan(base::FunctionRef<void()> moved);

  std::vector<std::unique_ptr<PublishedLine>> out_;
  std::vector<std::unique_ptr<FoundLine>> in_;
  std::vector<InLine*> rung_;  // of one call of bring()
  std::vector<bool> announced_, watched_;
  std::optional<Plan> plan_;
  std::vector<std::shared_ptr<const device::Import>> mappings_;  // of plan_, while it runs
  std::uint64_t exchange_ = 0;
  std::chrono::steady_clock::time_point begun_{};
  std::chrono::nanoseconds moment_{0};
  bool in_use_ = false;
  bool fetching_ = false;  // data of this exchange have been fetched
};

}  // namespace dunnage::mpi
