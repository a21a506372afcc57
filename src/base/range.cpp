#include "base/range.hpp"

#ifdef DUNNAGE_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

namespace dunnage::base {

std::atomic<bool> ranges_shown{false};

#ifdef DUNNAGE_NVTX
namespace {
/// Dunnage has a domain of its own, so that tools can tell its ranges from the program's. The first
/// range creates the domain.
nvtxDomainHandle_t domain() {
  static const auto ours = nvtxDomainCreateA("Dunnage");
  return ours;
}
}  // namespace

bool show_ranges() {
  ranges_shown.store(true, std::memory_order_relaxed);
  return true;
}

void Range::push(const char* name, std::int64_t bytes) {
  nvtxEventAttributes_t range{};
  range.version = NVTX_VERSION;
  range.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  range.messageType = NVTX_MESSAGE_TYPE_ASCII;
  range.message.ascii = name;
  range.payloadType = NVTX_PAYLOAD_TYPE_INT64;
  range.payload.llValue = bytes;
  nvtxDomainRangePushEx(domain(), &range);
}

void Range::pop() { nvtxDomainRangePop(domain()); }
#else
bool show_ranges() { return false; }
void Range::push(const char*, std::int64_t) {}
void Range::pop() {}
#endif

}  // namespace dunnage::base
