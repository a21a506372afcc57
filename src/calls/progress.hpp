// Receives that are under way and have come, looked after while this process waits for something else.
#pragma once

namespace dunnage::calls {

inline void progress_receives() {}

}  // namespace dunnage::calls
