// A datatype as text, such as "vector(3,2,-1,byte)", for messages about it.
#pragma once

#include "typemap.hpp"

inline std::string describe(MPI_Datatype t) {
  const Recipe r(t);
  if (is_builtin(r.combiner)) {
    char name[MPI_MAX_OBJECT_NAME];
    int length = 0;
    PMPI_Type_get_name(t, name, &length);
    return length > 4 ? name + 4 : name;  // without "MPI_"
  }
  struct Name {
    int combiner;
    const char* text;
  };
  static const Name names[] = {
      {MPI_COMBINER_DUP, "dup"},
      {MPI_COMBINER_CONTIGUOUS, "contiguous"},
      {MPI_COMBINER_VECTOR, "vector"},
      {MPI_COMBINER_HVECTOR, "hvector"},
      {MPI_COMBINER_INDEXED, "indexed"},
      {MPI_COMBINER_HINDEXED, "hindexed"},
      {MPI_COMBINER_INDEXED_BLOCK, "indexed_block"},
      {MPI_COMBINER_HINDEXED_BLOCK, "hindexed_block"},
      {MPI_COMBINER_STRUCT, "struct"},
      {MPI_COMBINER_SUBARRAY, "subarray"},
      {MPI_COMBINER_DARRAY, "darray"},
      {MPI_COMBINER_RESIZED, "resized"},
  };
  std::string text = "?";
  for (const Name& n : names)
    if (n.combiner == r.combiner) text = n.text;
  text += '(';
  for (MPI_Aint n : r.num) text += std::to_string(n) + ',';
  for (MPI_Datatype old : r.type) text += describe(old) + ',';
  text.back() = ')';
  return text;
}
