// A layout compiled for the host: packs and unpacks any range of the packed stream.
//
// A Program belongs to one (layout, count) and is immutable: any number of threads may use it at once. It is
// stateless too: every call names its range, so an operation can stop after any byte and go on later.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pack/cpu/kernels.hpp"
#include "pack/cpu/nest.hpp"
#include "type/layout.hpp"

namespace dunnage::pack {

/// `streamed`: stores may go past the caches, piece by piece as that turns out faster (store_choice.hpp). It can pay
/// where the two buffers together do not fit the nearer caches.
enum class Stores { cached, streamed };

class Program {
 public:
  /// Compiles `count` elements of a layout. Throws type::SpecError where `count` elements do not fit 63 bits.
  Program(const type::Layout& layout, std::int64_t count);

  /// Bytes of the whole packed stream.
  std::int64_t size() const { return size_; }
  /// Contiguous blocks in the user's buffer.
  std::int64_t blocks() const { return data_.node ? data_.node->blocks : 0; }
  /// The canonical layout of all elements together.
  const type::Placed& data() const { return data_; }
  /// Bytes of the user's buffer from the first touched to the last.
  std::int64_t span() const { return data_.node ? data_.node->high - data_.node->low : 0; }
  /// The name of the kernel that does the bulk of the work, for `explain` and the report.
  std::string kernel() const;

  /// Packs bytes [begin, end) of the stream to `packed`, which receives byte `begin` first.
  /// `user` is the buffer's address as given to MPI. 0 <= begin <= end <= size().
  void pack(const void* user, void* packed, std::int64_t begin, std::int64_t end, Stores stores = Stores::cached) const;
  /// Unpacks bytes [begin, end) of the stream from `packed`, which holds byte `begin` first.
  void unpack(const void* packed, void* user, std::int64_t begin, std::int64_t end,
              Stores stores = Stores::cached) const;

  void pack(const void* user, void* packed) const { pack(user, packed, 0, size_, stores()); }
  void unpack(const void* packed, void* user) const { unpack(packed, user, 0, size_, stores()); }
  /// What suits the whole stream, by its size.
  Stores stores() const { return stores_; }

 private:
  static constexpr int max_dims = 8;
  /// Loops around one block length, outermost first, as the packed order has them.
  struct Nest {
    int dims = 0;
    Dim dim[max_dims];
    std::int64_t block = 0;
  };
  struct Op {
    enum class Kind { nest, units, blocks, repeat, interleave, spread, concat } kind;
    std::int64_t size = 0;                // packed bytes
    Nest nest;                            // nest
    std::int64_t count = 1, stride = 0;   // repeat, interleave
    const type::Node* node = nullptr;     // blocks, interleave, spread, concat: where the offsets are
    std::vector<std::size_t> children;    // repeat, interleave, spread, concat: indices into ops_
    std::int64_t unit = 0;                // units: bytes of each
    std::vector<std::int32_t> near;       // units: offsets where 32 bits hold them
    std::vector<std::int64_t> offsets;    // units: offsets where they do not
  };

  std::size_t compile(const type::Node& node);
  void compile_list(const type::Node& node, Op& op);
  /// The size of pieces that keep a transpose one; 0 where the range is none.
  std::int64_t interchanged_piece(std::int64_t begin, std::int64_t end) const;

  template <Direction D>
  void run(const Op& op, char* user, char* packed, std::int64_t begin, std::int64_t end, Memory memory) const;
  template <Direction D>
  void run_nest(const Nest& nest, int level, char* user, char* packed, std::int64_t begin, std::int64_t end,
                Memory memory) const;
  template <Direction D>
  void run_units(const Op& op, char* user, char* packed, std::int64_t begin, std::int64_t end, Memory memory) const;
  template <Direction D>
  void run_blocks(const Op& op, char* user, char* packed, std::int64_t begin, std::int64_t end, Memory memory) const;
  template <Direction D>
  void run_interleaved(const Op& op, char* user, char* packed, std::int64_t first, std::int64_t last, Memory memory) const;

  type::Placed data_;
  std::int64_t size_ = 0;
  Stores stores_ = Stores::cached;
  std::vector<Op> ops_;
  std::size_t root_ = 0;
};

}  // namespace dunnage::pack
