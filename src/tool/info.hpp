// dunnage info: what is installed here, what Dunnage can use of it, and the settings.
#pragma once

namespace dunnage::tool {

/// Prints the information, as text or as JSON. Returns the exit status.
int info(bool json);

}  // namespace dunnage::tool
