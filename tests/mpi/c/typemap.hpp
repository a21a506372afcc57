// The oracle: what a datatype means, read back through MPI_Type_get_contents and expanded by brute
// force into the list of its basic elements in typemap order. Slow, obvious, and independent of how
// any MPI (or any library in front of one) represents types. Only PMPI_ names are called, so that a
// preloaded library is not part of the oracle.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

using Bytes = std::vector<unsigned char>;

struct Piece {
  MPI_Aint disp;
  MPI_Aint size;
};
using Typemap = std::vector<Piece>;

// How a datatype was made. `num` holds the constructor's numbers in the order of its argument list,
// whether the plain or the large-count constructor was used.
class Recipe {
 public:
  explicit Recipe(MPI_Datatype type);
  ~Recipe();
  Recipe(const Recipe&) = delete;
  Recipe& operator=(const Recipe&) = delete;

  int combiner = MPI_COMBINER_NAMED;
  std::vector<MPI_Aint> num;
  std::vector<MPI_Datatype> type;
};

inline int combiner_of(MPI_Datatype type) {
  int combiner;
#if MPI_VERSION >= 4
  MPI_Count ni, na, nc, nd;
  PMPI_Type_get_envelope_c(type, &ni, &na, &nc, &nd, &combiner);
#else
  int ni, na, nd;
  PMPI_Type_get_envelope(type, &ni, &na, &nd, &combiner);
#endif
  return combiner;
}

// Types that nobody made and nobody may free.
inline bool is_builtin(int combiner) {
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_INTEGER || combiner == MPI_COMBINER_F90_REAL ||
         combiner == MPI_COMBINER_F90_COMPLEX;
}

// A large-count constructor keeps its sizes apart from its small numbers; put them back in place.
inline std::vector<MPI_Aint> interleave(int combiner, const std::vector<int>& small,
                                        const std::vector<MPI_Aint>& large) {
  std::vector<MPI_Aint> num;
  if (combiner == MPI_COMBINER_SUBARRAY && !large.empty()) {
    num.push_back(small[0]);
    num.insert(num.end(), large.begin(), large.end());
    num.push_back(small[1]);
  } else if (combiner == MPI_COMBINER_DARRAY && !large.empty()) {
    num.assign(small.begin(), small.begin() + 3);
    num.insert(num.end(), large.begin(), large.end());
    num.insert(num.end(), small.begin() + 3, small.end());
  } else {
    num.assign(small.begin(), small.end());
    num.insert(num.end(), large.begin(), large.end());
  }
  return num;
}

inline Recipe::Recipe(MPI_Datatype of) {
  std::vector<int> small;
  std::vector<MPI_Aint> large;
#if MPI_VERSION >= 4
  MPI_Count ni, na, nc, nd;
  PMPI_Type_get_envelope_c(of, &ni, &na, &nc, &nd, &combiner);
  if (is_builtin(combiner)) return;
  small.resize(ni);
  large.resize(na);
  std::vector<MPI_Count> counts(nc);
  type.resize(nd);
  PMPI_Type_get_contents_c(of, ni, na, nc, nd, small.data(), large.data(), counts.data(), type.data());
  large.insert(large.end(), counts.begin(), counts.end());
#else
  int ni, na, nd;
  PMPI_Type_get_envelope(of, &ni, &na, &nd, &combiner);
  if (is_builtin(combiner)) return;
  small.resize(ni);
  large.resize(na);
  type.resize(nd);
  PMPI_Type_get_contents(of, ni, na, nd, small.data(), large.data(), type.data());
#endif
  num = interleave(combiner, small, large);
}

inline Recipe::~Recipe() {
  for (MPI_Datatype t : type)
    if (!is_builtin(combiner_of(t))) PMPI_Type_free(&t);
}

inline MPI_Aint type_extent(MPI_Datatype t) {
  MPI_Aint lb, extent;
  PMPI_Type_get_extent(t, &lb, &extent);
  return extent;
}

inline MPI_Aint type_size(MPI_Datatype t) {
  MPI_Count size;
  PMPI_Type_size_x(t, &size);
  return size;
}

inline void append_shifted(Typemap& out, const Typemap& in, MPI_Aint by) {
  for (const Piece& p : in) out.push_back({p.disp + by, p.size});
}

// `n` elements in a row, the first at `at`.
inline void append_block(Typemap& out, const Typemap& one, MPI_Aint extent, MPI_Aint n, MPI_Aint at) {
  for (MPI_Aint i = 0; i < n; ++i) append_shifted(out, one, at + i * extent);
}

// The pair types are structs of two members; every other named type is one element.
inline Typemap named_typemap(MPI_Datatype t) {
  struct FloatInt {
    float a;
    int b;
  };
  struct DoubleInt {
    double a;
    int b;
  };
  struct LongInt {
    long a;
    int b;
  };
  struct ShortInt {
    short a;
    int b;
  };
  struct LongDoubleInt {
    long double a;
    int b;
  };
#define DUNNAGE_PAIR(name, S)                            \
  if (t == name) return {                                \
      {0, sizeof(S::a)}, { offsetof(S, b), sizeof(int) } \
    }
  DUNNAGE_PAIR(MPI_FLOAT_INT, FloatInt);
  DUNNAGE_PAIR(MPI_DOUBLE_INT, DoubleInt);
  DUNNAGE_PAIR(MPI_LONG_INT, LongInt);
  DUNNAGE_PAIR(MPI_SHORT_INT, ShortInt);
  DUNNAGE_PAIR(MPI_LONG_DOUBLE_INT, LongDoubleInt);
#undef DUNNAGE_PAIR
  if (t == MPI_2INT) return {{0, sizeof(int)}, {sizeof(int), sizeof(int)}};
  return {{0, type_size(t)}};
}

// Visits every element of an array in storage order with its indices and its linear position.
template <class Visit>
void for_each_index(const std::vector<MPI_Aint>& sizes, bool c_order, Visit visit) {
  const int n = int(sizes.size());
  MPI_Aint total = 1;
  for (MPI_Aint s : sizes) total *= s;
  std::vector<MPI_Aint> index(n);
  for (MPI_Aint at = 0; at < total; ++at) {
    MPI_Aint rest = at;
    for (int k = 0; k < n; ++k) {
      const int d = c_order ? n - 1 - k : k;
      index[d] = rest % sizes[d];
      rest /= sizes[d];
    }
    visit(index, at);
  }
}

inline Typemap subarray_typemap(const Recipe& r, const Typemap& one, MPI_Aint extent) {
  const MPI_Aint n = r.num[0];
  const std::vector<MPI_Aint> sizes(r.num.begin() + 1, r.num.begin() + 1 + n);
  const MPI_Aint* sub = &r.num[1 + n];
  const MPI_Aint* start = sub + n;
  Typemap out;
  for_each_index(sizes, r.num[1 + 3 * n] == MPI_ORDER_C, [&](const auto& index, MPI_Aint at) {
    for (MPI_Aint d = 0; d < n; ++d)
      if (index[d] < start[d] || index[d] >= start[d] + sub[d]) return;
    append_shifted(out, one, at * extent);
  });
  return out;
}

// One rank's share of a distributed array: every element of the global array that it owns, in the
// array's storage order. Ranks are numbered over the process grid in C order, whatever the array's.
inline Typemap darray_typemap(const Recipe& r, const Typemap& one, MPI_Aint extent) {
  const MPI_Aint rank = r.num[1], n = r.num[2];
  const std::vector<MPI_Aint> sizes(r.num.begin() + 3, r.num.begin() + 3 + n);
  const MPI_Aint* distrib = &r.num[3 + n];
  const MPI_Aint* darg = distrib + n;
  const MPI_Aint* procs = darg + n;
  std::vector<MPI_Aint> mine(n), block(n);
  MPI_Aint rest = rank;
  for (MPI_Aint d = n - 1; d >= 0; --d) {
    mine[d] = rest % procs[d];
    rest /= procs[d];
    if (distrib[d] == MPI_DISTRIBUTE_NONE)
      block[d] = sizes[d];
    else if (darg[d] != MPI_DISTRIBUTE_DFLT_DARG)
      block[d] = darg[d];
    else
      block[d] = distrib[d] == MPI_DISTRIBUTE_BLOCK ? (sizes[d] + procs[d] - 1) / procs[d] : 1;
  }
  Typemap out;
  for_each_index(sizes, r.num[3 + 4 * n] == MPI_ORDER_C, [&](const auto& index, MPI_Aint at) {
    for (MPI_Aint d = 0; d < n; ++d) {
      const MPI_Aint owner = distrib[d] == MPI_DISTRIBUTE_NONE ? 0 : index[d] / block[d] % procs[d];
      if (owner != mine[d]) return;
    }
    append_shifted(out, one, at * extent);
  });
  return out;
}

inline Typemap typemap(MPI_Datatype t) {
  const Recipe r(t);
  if (is_builtin(r.combiner)) return named_typemap(t);
  Typemap out;
  const auto& v = r.num;
  if (r.combiner == MPI_COMBINER_STRUCT) {
    const MPI_Aint n = v[0];
    for (MPI_Aint i = 0; i < n; ++i)
      append_block(out, typemap(r.type[i]), type_extent(r.type[i]), v[1 + i], v[1 + n + i]);
    return out;
  }
  const Typemap one = typemap(r.type[0]);
  const MPI_Aint extent = type_extent(r.type[0]);
  switch (r.combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED: return one;
    case MPI_COMBINER_CONTIGUOUS: append_block(out, one, extent, v[0], 0); return out;
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR: {
      const MPI_Aint stride = v[2] * (r.combiner == MPI_COMBINER_VECTOR ? extent : 1);
      for (MPI_Aint i = 0; i < v[0]; ++i) append_block(out, one, extent, v[1], i * stride);
      return out;
    }
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED: {
      const MPI_Aint unit = r.combiner == MPI_COMBINER_INDEXED ? extent : 1;
      for (MPI_Aint i = 0; i < v[0]; ++i) append_block(out, one, extent, v[1 + i], v[1 + v[0] + i] * unit);
      return out;
    }
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK: {
      const MPI_Aint unit = r.combiner == MPI_COMBINER_INDEXED_BLOCK ? extent : 1;
      for (MPI_Aint i = 0; i < v[0]; ++i) append_block(out, one, extent, v[1], v[2 + i] * unit);
      return out;
    }
    case MPI_COMBINER_SUBARRAY: return subarray_typemap(r, one, extent);
    case MPI_COMBINER_DARRAY: return darray_typemap(r, one, extent);
  }
  std::fprintf(stderr, "typemap: unknown combiner %d\n", r.combiner);
  std::abort();
}

// `count` elements of a type, as a send or a receive takes them.
inline Typemap typemap(MPI_Datatype t, MPI_Aint count) {
  Typemap out;
  append_block(out, typemap(t), type_extent(t), count, 0);
  return out;
}

inline MPI_Aint size_of(const Typemap& map) {
  MPI_Aint total = 0;
  for (const Piece& p : map) total += p.size;
  return total;
}

// The first and one past the last byte that the typemap touches.
struct Bounds {
  MPI_Aint begin = 0, end = 0;
};

inline Bounds bounds_of(const Typemap& map) {
  Bounds b;
  bool first = true;
  for (const Piece& p : map) {
    if (p.size == 0) continue;
    if (first || p.disp < b.begin) b.begin = p.disp;
    if (first || p.disp + p.size > b.end) b.end = p.disp + p.size;
    first = false;
  }
  return b;
}

// Whether two pieces share a byte: such a type may be sent but not received into.
inline bool overlaps(const Typemap& map) {
  const Bounds b = bounds_of(map);
  std::vector<bool> seen(b.end - b.begin);
  for (const Piece& p : map)
    for (MPI_Aint i = 0; i < p.size; ++i) {
      if (seen[p.disp - b.begin + i]) return true;
      seen[p.disp - b.begin + i] = true;
    }
  return false;
}

// Pieces that follow one another in memory as they do in the stream, as one: what is packed and
// unpacked again and again takes less time so.
inline Typemap runs_of(const Typemap& map) {
  Typemap runs;
  for (const Piece& p : map)
    if (!runs.empty() && runs.back().disp + runs.back().size == p.disp)
      runs.back().size += p.size;
    else
      runs.push_back(p);
  return runs;
}

inline void copy_piece(unsigned char* to, const unsigned char* from, std::size_t n) {
  if (n == 8)  // most pieces; the compiler needs no call for them
    std::memcpy(to, from, 8);
  else
    std::memcpy(to, from, n);
}

inline Bytes oracle_pack(const Typemap& map, const unsigned char* origin) {
  Bytes out(size_of(map));
  unsigned char* to = out.data();
  for (const Piece& p : map) {
    copy_piece(to, origin + p.disp, p.size);
    to += p.size;
  }
  return out;
}

// A stream shorter than the typemap fills only the beginning, as a short message does.
inline void oracle_unpack(const Typemap& map, const Bytes& stream, unsigned char* origin) {
  std::size_t at = 0;
  for (const Piece& p : map) {
    const std::size_t n = std::min<std::size_t>(p.size, stream.size() - at);
    if (n) copy_piece(origin + p.disp, stream.data() + at, n);
    at += n;
  }
}
