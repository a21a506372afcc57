// The process beside a launcher that the ranks on all hosts tell that they have Dunnage.
#pragma once

namespace dunnage::tool {

/// Starts it, to end when this process does, whatever program that becomes. The ranks find it by DUNNAGE_ROSTER, which is set;
/// where the process cannot be had, or there is one already, nothing is done.
void start_roster();

}  // namespace dunnage::tool
