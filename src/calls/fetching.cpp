#include "calls/fetching.hpp"

#include "calls/arrival.hpp"
#include "calls/streams.hpp"

namespace dunnage::calls {

void fetch_arrived() {
  // Requests are not asked without need: MPICH raises a receive's error then.
  if (!must_fetch() || !context->streams->expects()) return;
  for (auto* operation : context->operations.collect([](const engine::Operation& o) { return o.receives() && o.active && !o.delivered; }))
    fetch_if_arrived(*operation, handle_of<MPI_Request>(operation->key));
}

}  // namespace dunnage::calls
