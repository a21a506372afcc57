// File descriptors from process to process, by datagrams between sockets. The name of a socket is a
// nonce and stands in no file system.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "base/descriptor.hpp"

namespace dunnage::transport::peers {

/// What is sent with a descriptor.
struct Label {
  std::uint32_t sender, place;
  std::uint64_t serial;                  // a sender uses each serial once
  std::array<unsigned char, 112> bytes;  // sender and receiver agree on what they mean
};

/// Never waits. Not thread-safe.
class DescriptorSocket {
 public:
  using Name = std::array<std::uint64_t, 2>;
  /// Returns null if the kernel refuses a socket.
  static std::unique_ptr<DescriptorSocket> open();
  DescriptorSocket(const DescriptorSocket&) = delete;
  DescriptorSocket& operator=(const DescriptorSocket&) = delete;
  ~DescriptorSocket();

  const Name& name() const { return name_; }
  /// Returns false if the datagram cannot be delivered, or not now.
  bool send(const Name& to, const Label& label, const base::Descriptor& file);
  struct Message {
    Label label;
    base::Descriptor file;
  };
  /// What that process of this user has sent with this label. Returns nothing if it has not come,
  /// or came so long ago that it was thrown away.
  std::optional<Message> take(std::uint32_t process, std::uint32_t sender, std::uint32_t place, std::uint64_t serial);

 private:
  static constexpr std::size_t most = 64;  // messages that have come and were not taken
  struct Arrived {
    std::uint32_t process;
    Message message;
  };
  DescriptorSocket(int file, std::uint64_t inode, const Name& name) : file_(file), inode_(inode), name_(name) {}
  bool open_still() const;
  bool receive();

  base::Descriptor file_;
  std::uint64_t inode_;  // tells whether `file_` is still ours: a program may close files that it does not know
  Name name_;
  std::deque<Arrived> arrived_;
};

}  // namespace dunnage::transport::peers
