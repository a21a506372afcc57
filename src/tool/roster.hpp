// The roster: a process beside the launcher. The ranks on all hosts tell it that they have Dunnage.
#pragma once

namespace dunnage::tool {

/// Starts the roster and sets DUNNAGE_ROSTER, by which the ranks find it. The roster ends when this
/// process ends, also if this process becomes another program. Does nothing if DUNNAGE_ROSTER is
/// set, or if the roster cannot be started.
void start_roster();

}  // namespace dunnage::tool
