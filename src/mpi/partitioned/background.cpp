#include "mpi/partitioned/background.hpp"

#include <utility>

#include "mpi/message/attach.hpp"
#include "mpi/message/orphans.hpp"
#include "mpi/process/private_world.hpp"
#include "mpi/ways/outbound.hpp"

namespace dunnage::mpi {
namespace {

class Background : public Request {
 public:
  explicit Background(memory::Parcel parcel) : parcel_(std::move(parcel)) {}
  const memory::Parcel& parcel() const { return parcel_; }
  bool promised() const override { return true; }

 private:
  const memory::Parcel parcel_;
};

/// Sends the parcel of `operation`.
int send(std::unique_ptr<Background> operation, int dest, int tag) {
  const auto& own = process->own;
  MPI_Request request = MPI_REQUEST_NULL;
  const Shown shown(operation->parcel());
  const int code =
      own.Isend(shown.data(), static_cast<int>(shown.count()), shown.type(), dest, tag, private_world(), &request);
  forget_request(code, &request);
  int done = 0;
  if (code == MPI_SUCCESS && (own.Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || !done))
    adopt_orphan(request, std::move(operation));
  return code;
}

}  // namespace

int send_in_background(memory::Parcel parcel, int dest, int tag) {
  int code = MPI_SUCCESS;
  const int thrown = guarded([&] { code = send(std::make_unique<Background>(std::move(parcel)), dest, tag); });
  return thrown != MPI_SUCCESS ? thrown : code;
}

bool send_copy(const SendCall& call, int& code) {
  bool copied = false;
  const int thrown = guarded([&] {
    const auto data = buffer_of(const_cast<void*>(call.buffer), call.count, call.type);
    auto parcel = parcel_for(data, plan::Operation::send, data.size());
    if (!parcel) return;
    copied = true;
    const Accelerated counted(call.hook, data.size());
    code = gather(parcel, data);
    if (code != MPI_SUCCESS) return;
    avoid_length(data.size(), MPI_PACKED, call.dest, call.comm);
    code = send(std::make_unique<Background>(std::move(parcel)), call.dest, call.tag);
  });
  if (thrown != MPI_SUCCESS && copied) code = thrown;
  return copied;
}

}  // namespace dunnage::mpi
