#include "transport/peers/descriptor_socket.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace dunnage::transport::peers {
namespace {

// The least number of the file: above those that programs expect. shm/memory.cpp says why it is no
// larger.
constexpr int socket_file = 60;

struct Address {
  explicit Address(const DescriptorSocket::Name& name) {
    memory.sun_family = AF_UNIX;
    // The zero before it says that the name stands in no file system.
    const auto text = fmt::format("dunnage-{:016x}{:016x}", name[0], name[1]);
    std::memcpy(memory.sun_path + 1, text.data(), text.size());
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&memory); }
  sockaddr_un memory{};
  socklen_t size;
};

union Extra {
  cmsghdr align;
  char bytes[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(ucred))];
};

}  // namespace

std::unique_ptr<DescriptorSocket> DescriptorSocket::open() {
  const base::Descriptor made(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made) return nullptr;
  base::Descriptor file(fcntl(made.get(), F_DUPFD_CLOEXEC, socket_file));
  const int yes = 1;
  Name name{};
  struct stat status;
  if (!file || setsockopt(file.get(), SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) != 0 ||
      getrandom(name.data(), sizeof name, 0) != sizeof name || fstat(file.get(), &status) != 0)
    return nullptr;
  Address address(name);
  if (bind(file.get(), address.get(), address.size) != 0) return nullptr;
  return std::unique_ptr<DescriptorSocket>(new DescriptorSocket(file.release(), status.st_ino, name));
}

DescriptorSocket::~DescriptorSocket() {
  if (!open_still()) (void)file_.release();
}

bool DescriptorSocket::open_still() const {
  struct stat status;
  return fstat(file_.get(), &status) == 0 && S_ISSOCK(status.st_mode) && status.st_ino == inode_;
}

bool DescriptorSocket::send(const Name& to, const Label& label, const base::Descriptor& file) {
  if (!file || !open_still()) return false;
  Address address(to);
  iovec data{const_cast<Label*>(&label), sizeof label};
  Extra extra{};
  msghdr datagram{};
  datagram.msg_name = address.get();
  datagram.msg_namelen = address.size;
  datagram.msg_iov = &data;
  datagram.msg_iovlen = 1;
  datagram.msg_control = extra.bytes;
  datagram.msg_controllen = CMSG_SPACE(sizeof(int));
  auto* header = CMSG_FIRSTHDR(&datagram);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  const int number = file.get();
  std::memcpy(CMSG_DATA(header), &number, sizeof number);
  return sendmsg(file_.get(), &datagram, MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof label);
}

/// Receives the next message. Returns false if there is none. Throws away messages of other users,
/// and of another form.
bool DescriptorSocket::receive() {
  Message message;
  iovec data{&message.label, sizeof message.label};
  Extra extra{};
  msghdr datagram{};
  datagram.msg_iov = &data;
  datagram.msg_iovlen = 1;
  datagram.msg_control = extra.bytes;
  datagram.msg_controllen = sizeof extra.bytes;
  ssize_t size;
  do size = recvmsg(file_.get(), &datagram, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  while (size < 0 && errno == EINTR);
  if (size < 0) return false;
  std::optional<ucred> sender;
  for (auto* header = CMSG_FIRSTHDR(&datagram); header; header = CMSG_NXTHDR(&datagram, header)) {
    if (header->cmsg_level != SOL_SOCKET) continue;
    if (header->cmsg_type == SCM_CREDENTIALS) std::memcpy(&sender.emplace(), CMSG_DATA(header), sizeof(ucred));
    if (header->cmsg_type != SCM_RIGHTS) continue;
    const auto files = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < files; ++i) {
      int number;
      std::memcpy(&number, CMSG_DATA(header) + i * sizeof number, sizeof number);
      message.file = base::Descriptor(number);
    }
  }
  const bool ours = size == static_cast<ssize_t>(sizeof message.label) &&
                    !(datagram.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) && message.file && sender &&
                    sender->uid == getuid();
  if (!ours) return true;
  if (arrived_.size() == most) arrived_.pop_front();
  arrived_.push_back({static_cast<std::uint32_t>(sender->pid), std::move(message)});
  return true;
}

std::optional<DescriptorSocket::Message> DescriptorSocket::take(std::uint32_t process, std::uint32_t sender,
                                                                std::uint32_t place, std::uint64_t serial) {
  const auto wanted = [&](const Arrived& a) {
    return a.process == process && a.message.label.sender == sender && a.message.label.place == place &&
           a.message.label.serial == serial;
  };
  for (;;) {
    if (const auto found = std::find_if(arrived_.begin(), arrived_.end(), wanted); found != arrived_.end()) {
      auto message = std::move(found->message);
      arrived_.erase(found);
      return message;
    }
    if (!open_still() || !receive()) return std::nullopt;
  }
}

}  // namespace dunnage::transport::peers
