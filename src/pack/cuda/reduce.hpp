// The kernels of reductions. Each thread reads an element, or a chunk of elements, of every source,
// reduces them in the order of the sources, and writes the result.
//
// Each function is the work of one thread. kernels.cu runs the functions on the device,
// emulated.cpp on the host. Both give the same bits: no product is fused with a sum.
#pragma once

#include "pack/cuda/portable.hpp"
#include "pack/cuda/reduction.hpp"

namespace dunnage::pack::cuda {

DUNNAGE_HD float rounded_product(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}
DUNNAGE_HD double rounded_product(double a, double b) {
#ifdef __CUDA_ARCH__
  return __dmul_rn(a, b);
#else
  return a * b;
#endif
}

template <Operation operation>
struct Combine {
  /// Integers wrap around. Products of 16-bit numbers must not overflow an int.
  template <class T>
  static DUNNAGE_HD T of(T a, T b) {
    if constexpr (CategoryOf<T>::value == Category::integer) {
      using Bits = std::uint64_t;
      const auto x = static_cast<Bits>(a), y = static_cast<Bits>(b);
      if constexpr (operation == Operation::sum) return static_cast<T>(x + y);
      if constexpr (operation == Operation::product) return static_cast<T>(x * y);
      if constexpr (operation == Operation::logical_and) return static_cast<T>(a != 0 && b != 0);
      if constexpr (operation == Operation::logical_or) return static_cast<T>(a != 0 || b != 0);
      if constexpr (operation == Operation::logical_xor) return static_cast<T>((a != 0) != (b != 0));
      if constexpr (operation == Operation::bitwise_and) return static_cast<T>(x & y);
      if constexpr (operation == Operation::bitwise_or) return static_cast<T>(x | y);
      if constexpr (operation == Operation::bitwise_xor) return static_cast<T>(x ^ y);
    } else {
      if constexpr (operation == Operation::sum) return a + b;
      if constexpr (operation == Operation::product) return rounded_product(a, b);
    }
    if constexpr (operation == Operation::minimum) return b < a ? b : a;
    if constexpr (operation == Operation::maximum) return a < b ? b : a;
  }
  template <class T>
  static DUNNAGE_HD Complex<T> of(Complex<T> a, Complex<T> b) {
    if constexpr (operation == Operation::sum) {
      return {a.real + b.real, a.imaginary + b.imaginary};
    } else {
      return {rounded_product(a.real, b.real) - rounded_product(a.imaginary, b.imaginary),
              rounded_product(a.real, b.imaginary) + rounded_product(a.imaginary, b.real)};
    }
  }
  static DUNNAGE_HD Boolean of(Boolean a, Boolean b) {
    return {Combine<operation>::of(static_cast<std::uint8_t>(a.value), static_cast<std::uint8_t>(b.value))};
  }
  /// Of equal values the lesser index.
  template <class V, class I>
  static DUNNAGE_HD Located<V, I> of(Located<V, I> a, Located<V, I> b) {
    const bool better = operation == Operation::minimum_location ? b.value < a.value : a.value < b.value;
    if (better || (a.value == b.value && b.index < a.index)) return b;
    return a;
  }
};

/// Moves one element. The members of a pair are moved by themselves, because gaps between them are
/// not ours.
template <class T>
struct Access {
  static DUNNAGE_HD T read(const char* at) {
#ifdef __CUDA_ARCH__
    return *reinterpret_cast<const T*>(at);
#else
    T value;
    std::memcpy(static_cast<void*>(&value), at, sizeof value);
    return value;
#endif
  }
  static DUNNAGE_HD void write(char* at, const T& value) {
#ifdef __CUDA_ARCH__
    *reinterpret_cast<T*>(at) = value;
#else
    std::memcpy(at, &value, sizeof value);
#endif
  }
};
template <class V, class I>
struct Access<Located<V, I>> {
  static constexpr int index_at = sizeof(Located<V, I>) - (sizeof(V) > sizeof(I) ? sizeof(V) : sizeof(I));
  static_assert(sizeof(Located<V, I>) % 2 == 0 && index_at == sizeof(Located<V, I>) / 2);
  static DUNNAGE_HD Located<V, I> read(const char* at) { return {Access<V>::read(at), Access<I>::read(at + index_at)}; }
  static DUNNAGE_HD void write(char* at, const Located<V, I>& pair) {
    Access<V>::write(at, pair.value);
    Access<I>::write(at + index_at, pair.index);
  }
};

/// Whether elements are read in chunks.
template <class T>
constexpr bool in_chunks = CategoryOf<T>::value != Category::located&& reduction_chunk % sizeof(T) == 0;

/// What a thread has reduced and not written yet: one element, or a chunk of them.
template <class T, bool chunks = in_chunks<T>>
struct Reduced {
  T element[1];
};
template <class T>
struct Reduced<T, true> {
  union {
    Word<reduction_chunk> word;
    T element[reduction_chunk / static_cast<int>(sizeof(T))];
  };
};

template <Operation operation, class T>
DUNNAGE_HD T reduced_element(const Reduction& a, std::uint64_t i) {
  const auto at = static_cast<std::int64_t>(i * sizeof(T));
  auto value = Access<T>::read(a.source[0] + at);
  for (std::uint32_t s = 1; s < a.sources; ++s)
    value = Combine<operation>::of(value, Access<T>::read(a.source[s] + at));
  return value;
}

/// A chunk of several elements. The chunks of some sources are read before they are reduced, so
/// that a thread waits for them together.
template <Operation operation, class T>
DUNNAGE_HD void reduce_chunk(const Reduction& a, std::uint64_t c, Reduced<T>& value) {
  constexpr int n = reduction_chunk / static_cast<int>(sizeof(T));
  constexpr std::uint32_t together = 4;
  const auto at = static_cast<std::int64_t>(c * reduction_chunk);
  value.word = load<reduction_chunk>(a.source[0] + at);
  for (std::uint32_t s = 1; s < a.sources; s += together) {
    Reduced<T> next[together] = {};
    DUNNAGE_UNROLL
    for (std::uint32_t j = 0; j < together; ++j)
      if (s + j < a.sources) next[j].word = load<reduction_chunk>(a.source[s + j] + at);
    DUNNAGE_UNROLL
    for (std::uint32_t j = 0; j < together; ++j)
      if (s + j < a.sources) {
        DUNNAGE_UNROLL
        for (int e = 0; e < n; ++e) value.element[e] = Combine<operation>::of(value.element[e], next[j].element[e]);
      }
  }
}

/// Item i: a chunk, or the elements behind the last whole chunk; or one element. Returns whether
/// `value` has it. Elements behind the last whole chunk are written at once.
template <Operation operation, class T>
DUNNAGE_HD bool reduce_item(const Reduction& a, std::uint64_t i, Reduced<T>& value) {
  if constexpr (in_chunks<T>) {
    if (a.wide) {
      constexpr std::uint64_t n = reduction_chunk / sizeof(T);
      if ((i + 1) * n <= a.count) {
        reduce_chunk<operation, T>(a, i, value);
        return true;
      }
      for (auto e = i * n; e < a.count; ++e)
        Access<T>::write(a.to + static_cast<std::int64_t>(e * sizeof(T)), reduced_element<operation, T>(a, e));
      return false;
    }
  }
  if (i >= a.count) return false;
  value.element[0] = reduced_element<operation, T>(a, i);
  return true;
}

/// Likewise, by the operation that the parameter names.
template <class T, int operation = 0>
DUNNAGE_HD bool reduce(const Reduction& a, std::uint64_t i, Reduced<T>& value) {
  if constexpr (operation < operation_kinds) {
    constexpr auto this_one = static_cast<Operation>(operation);
    if constexpr (applies(this_one, CategoryOf<T>::value)) {
      if (a.operation == this_one) return reduce_item<this_one, T>(a, i, value);
    }
    return reduce<T, operation + 1>(a, i, value);
  } else {
    return false;
  }
}

/// Writes item i, after reduce() has returned true.
template <class T>
DUNNAGE_HD void write_reduced(const Reduction& a, std::uint64_t i, const Reduced<T>& value) {
  if constexpr (in_chunks<T>) {
    if (a.wide) return store<reduction_chunk>(a.to + static_cast<std::int64_t>(i * reduction_chunk), value.word);
  }
  Access<T>::write(a.to + static_cast<std::int64_t>(i * sizeof(T)), value.element[0]);
}

/// Reduces item i and writes it.
template <class T>
DUNNAGE_HD void reduce_and_write(const Reduction& a, std::uint64_t i) {
  Reduced<T> value{};
  if (reduce<T>(a, i, value)) write_reduced<T>(a, i, value);
}

}  // namespace dunnage::pack::cuda
