// Where a receive has put a message of a ticket's length, so that the ticket can be read from there and the data put in place.
#pragma once

#include <memory>
#include <vector>

#include "calls/mpi_table.hpp"
#include "engine/parcel.hpp"

namespace dunnage::calls {

/// In the user's buffer: contiguous, or through a program, or, for datatypes that are packed the MPI's way, through the MPI. Or
/// in staging memory, and to be put into the user's buffer. Movable.
class Landing {
 public:
  Landing() = default;
  /// In the user's buffer. Nothing of it is touched. Throws std::bad_alloc.
  static Landing in_place(void* user, std::int64_t count, MPI_Datatype type);
  /// The same, but packed and unpacked by the MPI, whatever the datatype is.
  static Landing by_mpi(void* user, std::int64_t count, MPI_Datatype type);
  /// In a parcel, which must live as long.
  static Landing staged(const engine::Parcel& parcel, engine::Content content);
  Landing(Landing&& other) noexcept { *this = std::move(other); }
  Landing& operator=(Landing&& other) noexcept;
  ~Landing();

  /// Bytes that the receive has room for.
  std::int64_t capacity() const { return capacity_; }
  /// The data, where they go through a program or to a device; else empty.
  const engine::Content& content() const { return content_; }
  /// The user's buffer, where the data is to lie there as it travels; else null.
  char* contiguous() const { return parcel_ || content_ || type_ != MPI_DATATYPE_NULL ? nullptr : user_; }
  /// A range of the message as it came.
  void read(void* bytes, std::int64_t begin, std::int64_t end) const;
  /// Puts bytes of the data in their place. In order, from the first that is not there.
  void place(const char* from, std::int64_t begin, std::int64_t end);
  /// What came in the message itself is in its place up to `end`, once this has returned.
  void settle(std::int64_t end);
  /// The next message is put there from its first byte on, whatever became of the last one.
  void restart() { packed_.clear(); }
  /// After the last bytes.
  void finish();

 private:
  void keep(MPI_Datatype type);

  char* user_ = nullptr;
  std::int64_t capacity_ = 0;
  engine::Content content_;
  const engine::Parcel* parcel_ = nullptr;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;  // one of theirs: the user may free it
  std::int64_t element_ = 1;               // its bytes
  std::vector<char> packed_;               // of data that the MPI puts in place
};

}  // namespace dunnage::calls
