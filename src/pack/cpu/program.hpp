// A layout compiled for the host: it packs and unpacks any range of the packed stream.
//
// A Program belongs to one layout and one count. It is immutable, so any number of threads may use
// it at once. It is also stateless: every call names its range, so an operation can stop after any
// byte and continue later.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pack/cpu/helpers.hpp"
#include "pack/cpu/kernels.hpp"
#include "pack/cpu/nest.hpp"
#include "type/layout.hpp"

namespace dunnage::pack {

/// Which stores a call uses. `streamed` stores whole lines past the caches. This can pay if the two
/// buffers together do not fit in the second-level cache, but not if the destination is in a cache.
enum class Stores { cached, streamed };

class Program {
 public:
  /// Compiles `count` elements of a layout. Throws type::SpecError if their size does not fit in 63
  /// bits.
  Program(const type::Layout& layout, std::int64_t count);

  /// Returns the bytes of the whole packed stream.
  std::int64_t size() const { return size_; }
  /// Returns the number of contiguous blocks in the user's buffer.
  std::int64_t blocks() const { return data_.node ? data_.node->blocks : 0; }
  /// Returns the canonical layout of all elements together.
  const type::Placed& data() const { return data_; }
  /// Returns the bytes of the user's buffer from the first touched byte to the last.
  std::int64_t span() const { return data_.node ? data_.node->high - data_.node->low : 0; }
  /// Returns the name of the kernel that does most of the work, for `explain` and the report.
  std::string kernel() const;

  /// Packs bytes [begin, end) of the stream, 0 <= begin <= end <= size(). Byte `begin` goes to
  /// `packed[0]`. `user` is the buffer's address as the program gave it to MPI.
  void pack(const void* user, void* packed, std::int64_t begin, std::int64_t end, Stores stores = Stores::cached) const;
  /// Unpacks bytes [begin, end) of the stream. `packed[0]` is byte `begin`.
  void unpack(const void* packed, void* user, std::int64_t begin, std::int64_t end,
              Stores stores = Stores::cached) const;

  void pack(const void* user, void* packed) const { pack(user, packed, 0, size_, stores()); }
  void unpack(const void* packed, void* user) const { unpack(packed, user, 0, size_, stores()); }
  /// Returns the stores that suit the whole stream, by its size.
  Stores stores() const { return stores_; }

 private:
  static constexpr int max_dims = 8;
  /// Loops around blocks of one length, outermost first, in the order of the packed stream.
  struct Nest {
    int dims = 0;
    Dim dim[max_dims];
    std::int64_t block = 0;
  };
  struct Op {
    enum class Kind { nest, units, blocks, repeat, interleave, spread, concat } kind;
    std::int64_t size = 0;               // packed bytes
    Nest nest;                           // nest
    std::int64_t count = 1, stride = 0;  // repeat, interleave
    const type::Node* node = nullptr;    // blocks, interleave, spread, concat: has the offsets
    std::vector<std::size_t> children;   // repeat, interleave, spread, concat: indices into ops_
    std::int64_t unit = 0;               // units: bytes of each unit
    std::vector<std::int32_t> near;      // units: the offsets if they fit in 32 bits
    std::vector<std::int64_t> offsets;   // units: the offsets otherwise
  };

  std::size_t compile(const type::Node& node);
  void compile_list(const type::Node& node, Op& op);
  /// As pack() and unpack(), without helpers.
  void pack_alone(const void* user, void* packed, std::int64_t begin, std::int64_t end, Stores stores) const;
  void unpack_alone(const void* packed, void* user, std::int64_t begin, std::int64_t end, Stores stores) const;
  /// Returns whether helpers may take part. If blocks overlap, the order of stores matters.
  bool shares(std::int64_t bytes) const { return helpers().help_with(bytes) && size_ <= span(); }
  /// Returns whether the user's memory is probably not cached.
  bool far() const { return stores_ == Stores::streamed; }
  /// Returns whether all of an operation can be packed past the caches without gathering blocks
  /// first. `packed` is where its first byte goes.
  bool packs_directly(const Op& op, const char* packed) const;

  template <Direction D>
  void run(const Op& op, char* user, char* packed, std::int64_t begin, std::int64_t end, CacheUse caches) const;
  template <Direction D>
  void run_nest(const Nest& nest, int level, char* user, char* packed, std::int64_t begin, std::int64_t end,
                CacheUse caches) const;
  template <Direction D>
  void run_units(const Op& op, char* user, char* packed, std::int64_t begin, std::int64_t end, CacheUse caches) const;
  template <Direction D>
  void run_blocks(const Op& op, char* user, char* packed, std::int64_t begin, std::int64_t end, CacheUse caches) const;
  template <Direction D>
  void run_interleaved(const Op& op, char* user, char* packed, std::int64_t first, std::int64_t last,
                       CacheUse caches) const;

  type::Placed data_;
  std::int64_t size_ = 0;
  Stores stores_ = Stores::cached;
  std::vector<Op> ops_;
  std::size_t root_ = 0;
};

}  // namespace dunnage::pack
