// Random datatype trees: every combiner, negative strides and lower bounds, zero-length blocks, to
// a given depth and within a byte budget.
#pragma once

#include <random>

#include "make.hpp"
#include "typemap.hpp"

class RandomType {
 public:
  // With `empties`, types without any bytes may occur inside; some MPIs divide by zero on those.
  // With `positive`, no type is resized to an extent of zero or less; some MPIs crash on lists of
  // those.
  RandomType(unsigned long seed, bool empties, bool positive) : rng_(seed), empties_(empties), positive_(positive) {}

  // A new uncommitted derived type.
  MPI_Datatype make(int depth) {
    for (;;) {
      MPI_Datatype t = grow(depth);
      if (fits(t)) return t;
      PMPI_Type_free(&t);
    }
  }
  int pick(int from, int to) { return std::uniform_int_distribution<int>(from, to)(rng_); }

 private:
  static constexpr MPI_Aint kPayload = 40000, kSpan = 400000;

  bool chance(int percent) { return pick(1, 100) <= percent; }

  bool fits(MPI_Datatype t) {
    MPI_Aint lb, span, low, extent;
    PMPI_Type_get_true_extent(t, &lb, &span);
    PMPI_Type_get_extent(t, &low, &extent);
    const MPI_Aint size = type_size(t);
    if (size == 0 && !empties_) return false;
    return size <= kPayload && span <= kSpan && std::abs(extent) <= kSpan && std::abs(lb) <= kSpan &&
           std::abs(low) <= kSpan;
  }

  // No long double: MPICH copies its value and leaves its padding bytes, which is its right.
  MPI_Datatype leaf() {
    static const MPI_Datatype leaves[] = {MPI_BYTE,       MPI_CHAR,      MPI_SHORT,   MPI_INT,
                                          MPI_FLOAT,      MPI_DOUBLE,    MPI_INT64_T, MPI_C_DOUBLE_COMPLEX,
                                          MPI_DOUBLE_INT, MPI_SHORT_INT, MPI_2INT,    MPI_FLOAT_INT};
    return leaves[pick(0, int(std::size(leaves)) - 1)];
  }

  // Wraps a smaller tree; falls back to that tree when the result would be too big.
  MPI_Datatype grow(int depth) {
    MPI_Datatype inner = depth > 1 && chance(85) ? make(depth - 1) : leaf();
    MPI_Datatype t = wrap(inner, depth);
    if (!is_builtin(combiner_of(inner))) MPI_Type_free(&inner);
    return t;
  }

  // A distance between blocks of `length` things of size `unit`: dense, apart, falling or
  // overlapping.
  MPI_Aint stride(MPI_Aint length, MPI_Aint unit) {
    switch (pick(0, 9)) {
      case 0: return length * unit;
      case 1: return -(length + pick(0, 3)) * unit;
      case 2: return -pick(1, 4) * unit;
      case 3: return pick(0, 3) * unit;
      default: return (length + pick(1, 6)) * unit;
    }
  }

  Aints displacements(int n, MPI_Aint unit) {
    Aints disps;
    MPI_Aint at = pick(-4, 4) * unit;
    for (int i = 0; i < n; ++i) {
      disps.push_back(at);
      at += stride(pick(1, 3), unit);
    }
    if (chance(20)) std::shuffle(disps.begin(), disps.end(), rng_);
    return disps;
  }

  Ints lengths(int n) {
    Ints blocks;
    for (int i = 0; i < n; ++i) blocks.push_back(pick(chance(15) ? 0 : 1, 4));
    return blocks;
  }

  static Ints narrow(const Aints& wide) { return Ints(wide.begin(), wide.end()); }

  MPI_Datatype wrap(MPI_Datatype old, int depth) {
    const MPI_Aint extent = type_extent(old);
    const MPI_Aint unit = std::max<MPI_Aint>(std::abs(extent), 1);
    const int n = pick(empties_ && chance(5) ? 0 : 1, 6), block = pick(1, 4);
    const int order = chance(50) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    switch (pick(0, 12)) {
      case 0: return make::contiguous(n, old);
      case 1: return make::vector(n, block, int(stride(block, 1)), old);
      case 2: return make::hvector(n, block, stride(block, unit) + pick(-1, 1), old);
      case 3: return make::indexed(lengths(n), narrow(displacements(n, 1)), old);
      case 4: return make::hindexed(lengths(n), displacements(n, unit), old);
      case 5: return make::indexed_block(block, narrow(displacements(n, 1)), old);
      case 6: return make::hindexed_block(block, displacements(n, unit), old);
      case 7: return record(old, n, depth);
      case 8: return box(old, order);
      case 9: return share(old, order);
      case 10: return make::duplicate(old);
      case 11: return make::vector(n, 1, int(stride(1, 1)), old);
      default: return resize(old, extent);
    }
  }

  MPI_Datatype record(MPI_Datatype old, int n, int depth) {
    Types olds, mine;
    for (int i = 0; i < n; ++i) {
      if (chance(30) && depth > 2) mine.push_back(make(depth - 2));
      olds.push_back(chance(40) ? old : chance(50) && !mine.empty() ? mine.back() : leaf());
    }
    const MPI_Datatype t = make::structure(lengths(n), displacements(n, pick(1, 64)), olds);
    for (MPI_Datatype& m : mine) MPI_Type_free(&m);
    return t;
  }

  MPI_Datatype box(MPI_Datatype old, int order) {
    Ints sizes, sub, starts;
    for (int d = pick(1, 3); d > 0; --d) {
      sizes.push_back(pick(1, 6));
      sub.push_back(pick(1, sizes.back()));
      starts.push_back(pick(0, sizes.back() - sub.back()));
    }
    return make::subarray(sizes, sub, starts, order, old);
  }

  MPI_Datatype share(MPI_Datatype old, int order) {
    if (type_size(old) == 0) return make::duplicate(old);  // Open MPI refuses to distribute nothing
    Ints sizes, distribs, args, procs;
    int ranks = 1;
    for (int d = pick(1, 3); d > 0; --d) {
      const int size = pick(2, 6);
      static const int kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE};
      const int kind = kinds[pick(0, 2)];
      const int parts = kind == MPI_DISTRIBUTE_NONE ? 1 : pick(1, 2);
      int arg = MPI_DISTRIBUTE_DFLT_DARG;
      if (kind == MPI_DISTRIBUTE_CYCLIC && chance(60)) arg = pick(1, 3);
      if (kind == MPI_DISTRIBUTE_BLOCK && chance(30)) arg = size / parts + pick(1, 2);
      sizes.push_back(size);
      distribs.push_back(kind);
      args.push_back(arg);
      procs.push_back(parts);
      ranks *= parts;
    }
    return make::darray(ranks, pick(0, ranks - 1), sizes, distribs, args, procs, order, old);
  }

  MPI_Datatype resize(MPI_Datatype old, MPI_Aint extent) {
    const MPI_Aint lb = pick(-16, 16);
    switch (pick(positive_ ? 2 : 0, 7)) {
      case 0: return make::resized(lb, pick(0, 8), old);
      case 1: return make::resized(lb, -std::abs(extent) - pick(0, 8), old);
      default: return make::resized(lb, std::abs(extent) + pick(0, 40), old);
    }
  }

  std::mt19937_64 rng_;
  bool empties_, positive_;
};
