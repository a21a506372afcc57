// The report (DUNNAGE_REPORT) and the complaints about the settings.
#pragma once

namespace dunnage::calls {

/// Collective over MPI_COMM_WORLD where a report is wanted; rank 0 writes it. Never fails: what cannot be written is
/// one line on standard error.
void report();

}  // namespace dunnage::calls
