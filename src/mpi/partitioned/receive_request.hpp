// MPI_Precv_init: a receive for each piece of the sender.
#pragma once

#include <optional>
#include <vector>

#include "memory/staging.hpp"
#include "mpi/partitioned/introduction.hpp"
#include "mpi/partitioned/request.hpp"

namespace dunnage::mpi {

class PartitionedReceive : public PartitionedRequest {
 public:
  PartitionedReceive(const PartitionedCall& call, std::shared_ptr<const KeptType> type, const Origin& origin)
      : PartitionedRequest(call, std::move(type), origin) {
    look_after_always();
  }
  ~PartitionedReceive() override;

  /// The message is the next one from that rank of MPI_COMM_WORLD. To be called once.
  void expect_from(int source, Origin& origin);
  /// Whether a partition that exists is there. Lets the operation go on. Thread-safe.
  bool arrived(std::int64_t partition);
  bool has_parts() const override { return true; }

 protected:
  int restart() override;
  bool fetch(FetchBatch& batch, int index) override;
  bool move_on() override;
  int arrive(MPI_Status& status) override;

 private:
  bool know_sender();
  /// Takes the sender's tags over from earlier receives. Returns false if such a receive is still
  /// under way: its sender has completed, and has given back the tags.
  bool take_tags();
  /// The sender's tags may have served another message before, or will serve one.
  void forget_channels();
  /// Begins the receives of pieces, if that has not been done and the sender is known. Returns
  /// whether they have begun.
  bool begin_if_known();
  void begin_receives();
  int begin_receive(std::int64_t piece);
  /// Looks at receives of pieces. f(i) says for the i-th of those that have not come whether to.
  template <class F>
  void look(F&& wanted);
  int deliver(std::int64_t partition);
  std::int64_t room() const { return call().partitions * partition_bytes(); }

  std::optional<MessageName> name_;  // until the introduction has come
  std::optional<Introduction> sender_;
  bool known_ = false;           // the sender, and the tags are this receive's
  bool tags_passed_on_ = false;  // to a later receive
  bool in_place_ = false;        // each piece is a number of whole elements of the receiver
  bool begun_ = false;           // the receives, since the start
  unsigned looks_in_vain_ = 0;
  plan::Arrivals arrivals_;
  memory::Staging packed_;                                     // the stream, unless `in_place_`
  std::vector<std::pair<std::int64_t, MPI_Request>> waiting_;  // pieces that have not come
};

}  // namespace dunnage::mpi
