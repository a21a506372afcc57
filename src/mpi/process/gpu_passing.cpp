#include "mpi/process/gpu_passing.hpp"

#include <cstring>

#include "device/gpu.hpp"
#include "device/passed.hpp"
#include "mpi/process/process.hpp"

namespace dunnage::mpi {

using Bytes = decltype(transport::peers::Label::bytes);
static_assert(sizeof(device::Exported) <= sizeof(Bytes));

transport::peers::Allocation passed_as(const device::Exported& mapping) {
  return {mapping.begin, mapping.size, mapping.id};
}

transport::peers::Hold holds(std::uint32_t rank, const device::Driver& driver, const device::Exported& mapping) {
  Bytes bytes{};
  std::memcpy(bytes.data(), &mapping, sizeof mapping);
  return process->world->holds(rank, passed_as(mapping), bytes, [&] { return device::descriptor_of(driver, mapping); });
}

bool take_passed(const device::Driver& driver, const device::Place& place, std::uint32_t rank, std::uint32_t at,
                 const transport::peers::DescriptorSocket::Message& message) try {
  const device::Scope scope(driver, device::context_for(driver, place));
  auto& imports = device::Gpu::current(driver).imports();
  const auto owner = static_cast<std::int32_t>(rank);
  if (const auto former = device::all_passed().remove(owner, at)) imports.forget(*former);
  device::Exported mapping;
  std::memcpy(&mapping, message.label.bytes.data(), sizeof mapping);
  if (mapping.owner != owner || mapping.way != device::Exported::by_descriptor) return false;
  device::all_passed().put(at, mapping, std::make_shared<const device::Passed>(driver, message.file));
  try {
    imports.open(driver, mapping);
    return true;
  } catch (const std::exception&) {
    device::all_passed().remove(owner, at);
    return false;
  }
} catch (const std::exception&) {
  return false;
}

}  // namespace dunnage::mpi
