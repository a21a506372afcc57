// dunnage info: what is installed here, what Dunnage can use of it, and the settings.
#pragma once

namespace dunnage::tool {

/// Prints the information. Returns the exit status.
int info();

}  // namespace dunnage::tool
