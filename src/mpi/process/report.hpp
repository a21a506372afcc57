// The report (DUNNAGE_REPORT).
#pragma once

namespace dunnage::mpi {

/// Where a report is wanted, the ranks send their counters to rank 0, which writes it; ranks that
/// do not answer in time are left out. Never fails: what cannot be written is one line on standard
/// error.
void report();

}  // namespace dunnage::mpi
