#include "mpi/hooks/comm_free.hpp"

#include "mpi/message/progress.hpp"
#include "mpi/message/request.hpp"
#include "mpi/message/unfinished.hpp"
#include "mpi/process/error.hpp"
#include "transport/shm/patience.hpp"

namespace dunnage::mpi {

void await_receivers_on(MPI_Comm comm) {
  const auto on_it = [key = key_of(comm)](const Request& o) {
    const auto errors = o.errors();
    return o.active && o.waits_for_receiver() && errors.object == ErrorsOf::Object::comm && errors.key == key;
  };
  transport::shm::Patience patience;
  for (const auto key : process->requests.keys(on_it))
    for (;; patience.wait()) {
      auto* const send = process->requests.find(key);  // another thread may complete it
      if (!send || !send->active) break;
      MPI_Status status;
      const auto asked = send->inner != MPI_REQUEST_NULL ? send->inner : handle_of<MPI_Request>(key);
      if (send->ask(asked, status) != Request::News::none) break;
      finish_sends();
      progress_receives();
    }
}

}  // namespace dunnage::mpi
