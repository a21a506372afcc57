// dunnage info: what is here, what Dunnage can use of it, and how it is set.
#pragma once

namespace dunnage::tool {

int info();

}  // namespace dunnage::tool
