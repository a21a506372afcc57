// In which order the channels of a communicator are used. Both ranks write the word of a channel.
// So most often the word must come from the core of the other rank. A program uses its channels in
// one order again and again. So the word of the next channel can be on its way in time.
#pragma once

namespace dunnage::mpi {

/// Of one channel. Not thread-safe.
class Succession {
 public:
  /// The last channel of a communicator that was used.
  struct Last {
    Succession* channel = nullptr;
  };
  Succession() = default;
  Succession(const Succession&) = delete;
  Succession& operator=(const Succession&) = delete;
  ~Succession() {
    if (last_ && last_->channel == this) last_->channel = nullptr;
  }
  /// The channel is about to be used. `word`: the channel's, `last`: the communicator's.
  void use(const void* word, Last& last) {
    if (last.channel && last.channel != this) last.channel->next_ = word;
    last.channel = this;
    last_ = &last;
    if (next_) __builtin_prefetch(next_, 1);  // does no harm if that channel is gone
  }

 private:
  const void* next_ = nullptr;  // the word of the channel that was used after this one
  Last* last_ = nullptr;
};

}  // namespace dunnage::mpi
