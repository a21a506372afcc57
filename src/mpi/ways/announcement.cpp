#include "mpi/ways/announcement.hpp"

#include <vector>

namespace dunnage::mpi {
namespace {

using transport::Ticket;

memory::Parcel parcel_of(std::int64_t length) { return parcel_for({}, plan::Operation::send, length); }

}  // namespace

memory::Parcel announce_ticket(const Ticket& ticket, std::int64_t length, const memory::Buffer& data,
                               std::int64_t carried) {
  auto parcel = parcel_of(length);
  if (!parcel) return parcel;
  parcel.gather(data, carried);
  parcel.write(&ticket, carried, length);
  return parcel;
}

memory::Parcel announce_ticket(const Ticket& ticket, std::int64_t length, std::span<const char> head) {
  auto parcel = parcel_of(length);
  if (!parcel) return parcel;
  std::vector<char> bytes(static_cast<std::size_t>(length));
  std::copy(head.begin(), head.end(), bytes.begin());
  std::memcpy(bytes.data() + bytes.size() - sizeof ticket, &ticket, sizeof ticket);
  parcel.write(bytes.data(), 0, length);
  return parcel;
}

memory::Parcel announce_token(std::uint64_t token, std::int64_t length) {
  auto parcel = parcel_of(length);
  if (!parcel) return parcel;
  std::vector<char> bytes(static_cast<std::size_t>(length));
  std::memcpy(bytes.data(), &token, sizeof token);
  parcel.write(bytes.data(), 0, length);
  return parcel;
}

}  // namespace dunnage::mpi
