// File descriptors from process to process, by datagrams between sockets that have names of chance in no file system.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "base/descriptor.hpp"

namespace dunnage::transport::shm {

/// What is sent along with a descriptor.
struct Label {
  std::uint32_t sender, place;
  std::uint64_t serial;  // of the sender's, which uses none twice
  std::array<unsigned char, 112> bytes;  // whoever uses this knows what they mean
};

/// Never waits. Not thread-safe.
class Post {
 public:
  using Name = std::array<std::uint64_t, 2>;
  /// Null where there is no such socket to be had.
  static std::unique_ptr<Post> open();
  Post(const Post&) = delete;
  Post& operator=(const Post&) = delete;
  ~Post();

  const Name& name() const { return name_; }
  /// False where it cannot be delivered, or not now.
  bool send(const Name& to, const Label& label, const base::Descriptor& file);
  struct Letter {
    Label label;
    base::Descriptor file;
  };
  /// What that process of this user has sent with these numbers; nothing where it has not come, or so long ago that it was thrown away.
  std::optional<Letter> take(std::uint32_t process, std::uint32_t sender, std::uint32_t place, std::uint64_t serial);

 private:
  static constexpr std::size_t most = 64;  // that have come before their time
  struct Arrived {
    std::uint32_t process;
    Letter letter;
  };
  Post(int file, std::uint64_t inode, const Name& name) : file_(file), inode_(inode), name_(name) {}
  bool open_still() const;
  bool receive();

  base::Descriptor file_;
  std::uint64_t inode_;  // by which the socket is known: a program may close what it does not know and take the number
  Name name_;
  std::deque<Arrived> arrived_;
};

}  // namespace dunnage::transport::shm
