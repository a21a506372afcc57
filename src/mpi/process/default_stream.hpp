// DUNNAGE_DEFAULT_STREAM: whether calls wait for what the program has put into the default stream.
#pragma once

#include "mpi/process/process.hpp"

namespace dunnage::mpi {

void await_default_stream();

/// Before a call that reads or writes the program's buffers, or lets other ranks do so. Costs a
/// load unless the setting says `wait`.
inline void after_default_stream() {
  if (process->settings.default_stream == base::DefaultStream::wait) await_default_stream();
}

}  // namespace dunnage::mpi
