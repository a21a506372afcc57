// Tests of src/mpi: the program's calls go through the hooks to the fake MPI.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fake_mpi.hpp"
#include "mpi/process/process.hpp"

namespace dunnage::mpi::test {

/// The functions that the program calls. They exist from the first test on.
const NextTable& program();

/// Columns of a matrix: 40 blocks of 12 bytes, not committed.
MPI_Datatype columns();
/// So many bytes, which depend on the seed.
std::string message(std::size_t bytes, unsigned seed = 1);

/// MPI has been initialised. At the end of a test nothing may be left: no request, no message, no
/// error of which the test has not asked.
class Hooked : public ::testing::Test {
 protected:
  Hooked();
  void TearDown() override;

  /// A committed datatype.
  MPI_Datatype commit(MPI_Datatype type) const {
    EXPECT_EQ(mpi.MPI_Type_commit(&type), MPI_SUCCESS);
    return type;
  }

  const NextTable& mpi;
};

/// A buffer for `count` elements, with guard bytes on both sides.
class Memory {
 public:
  /// `seed` 0: every byte is poison. Otherwise every byte tells its place.
  Memory(std::int64_t count, MPI_Datatype type, unsigned seed);
  /// Writes every byte anew. The buffer stays where it is.
  void fill(unsigned seed);
  /// What a call gets as its buffer.
  void* data() { return bytes_.data() + origin_; }
  const void* data() const { return bytes_.data() + origin_; }
  /// The selected bytes, by brute force.
  std::string packed() const { return fake::pack(data(), count_, type_); }
  /// What the memory must hold after a message with these bytes: all other bytes stay as they are.
  Memory with(const std::string& message) const;
  bool operator==(const Memory& other) const { return bytes_ == other.bytes_; }

 private:
  std::int64_t count_;
  MPI_Datatype type_;
  std::int64_t origin_ = 0;
  std::vector<unsigned char> bytes_;
};

}  // namespace dunnage::mpi::test
