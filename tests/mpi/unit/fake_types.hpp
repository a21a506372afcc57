// The datatypes of the fake MPI: what built them, and the bytes that they select.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace fake {

/// A datatype as MPI_Type_get_contents tells it, with its type map as brute force makes it.
struct Type {
  int combiner = MPI_COMBINER_NAMED;
  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Datatype> types;
  std::vector<std::pair<MPI_Aint, MPI_Aint>> blocks;  // byte offset and length, in the order of the type map
  MPI_Aint lb = 0, extent = 0, size = 0;
};

/// The type of a handle. A handle of no type ends the test.
const Type& type_of(MPI_Datatype type);

// New datatypes, as the constructors of MPI make them. They are not committed.
MPI_Datatype contiguous(int count, MPI_Datatype old);
MPI_Datatype vector(int count, int blocklength, int stride, MPI_Datatype old);
MPI_Datatype hindexed(const std::vector<int>& lengths, const std::vector<MPI_Aint>& offsets, MPI_Datatype old);
MPI_Datatype resized(MPI_Datatype old, MPI_Aint lb, MPI_Aint extent);

/// The bytes that `count` elements select, in the order of the type map.
std::string pack(const void* buffer, std::int64_t count, MPI_Datatype type);
/// Puts at most data.size() bytes where `count` elements select them.
void unpack(const std::string& data, void* buffer, std::int64_t count, MPI_Datatype type);

// Functions of the MPI.
int Type_contiguous(int count, MPI_Datatype old, MPI_Datatype* made);
int Type_create_hindexed(int count, const int lengths[], const MPI_Aint offsets[], MPI_Datatype old,
                         MPI_Datatype* made);
int Type_commit(MPI_Datatype* type);
int Type_dup(MPI_Datatype old, MPI_Datatype* made);
int Type_free(MPI_Datatype* type);
int Type_size_x(MPI_Datatype type, MPI_Count* size);
int Type_get_extent_x(MPI_Datatype type, MPI_Count* lb, MPI_Count* extent);
int Type_get_true_extent_x(MPI_Datatype type, MPI_Count* lb, MPI_Count* extent);
int Type_get_envelope(MPI_Datatype type, int* integers, int* addresses, int* types, int* combiner);
int Type_get_contents(MPI_Datatype type, int integers, int addresses, int types, int integer[], MPI_Aint address[],
                      MPI_Datatype old[]);

}  // namespace fake
