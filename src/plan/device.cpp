#include "plan/device.hpp"

#include <algorithm>

namespace dunnage::plan {

DeviceShape device_shape(std::int64_t size, std::int64_t blocks, std::int64_t span) {
  if (size == 0) return {};
  const auto block = size / std::max<std::int64_t>(blocks, 1);
  // A block may begin anywhere in a sector. This is the largest number of sectors that it can
  // touch.
  const auto whole = block / sector;
  const auto touched = std::min(blocks * (whole + 1 + (block % sector > 1 ? 1 : 0)), (span + sector - 1) / sector);
  const auto of_block = std::max<std::int64_t>((block + sector - 1) / sector, 1);
  const auto sectors = std::max(std::min(blocks * of_block, touched), (size + sector - 1) / sector);
  const bool dense = sectors * sector >= span;  // neighbouring blocks share sectors
  return {size, dense ? 1 : blocks, sectors, block % sector == 0 ? 0 : !dense ? blocks : size >= span ? 0 : sectors};
}

DeviceModel default_device_model() { return {8900, 1200, 1.0 / 4250, 0.022, 0.9}; }

DevicePrediction predict(const DeviceModel& m, const DeviceShape& s, bool pack) {
  const auto traffic = static_cast<double>((s.sectors + (pack ? 0 : s.partial)) * sector + s.size);
  const auto alone = m.run * static_cast<double>(s.runs + (pack ? 0 : s.partial));
  const double memory = traffic * m.byte + alone;
  return {m.launch + m.call + memory / m.share, m.launch + memory};
}

}  // namespace dunnage::plan
