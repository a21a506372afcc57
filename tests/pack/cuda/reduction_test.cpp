// The kernels of reductions, run on the host, against the operations as the MPI standard has them:
// bit for bit, for every operation, element, count and alignment.
#include <chrono>
#include <complex>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "../../support/check_kernels.hpp"
#include "pack/cuda/handshake.hpp"
#include "pack/cuda/plan_reduction.hpp"

namespace dunnage::pack::cuda {
namespace {

/// The standard's definitions, element by element.
template <class T>
T expected_number(Operation operation, T a, T b) {
  switch (operation) {
    case Operation::sum: return static_cast<T>(a + b);
    case Operation::product: return static_cast<T>(a * b);
    case Operation::minimum: return std::min(a, b);
    case Operation::maximum: return std::max(a, b);
    default: break;
  }
  if constexpr (std::is_integral_v<T>) switch (operation) {
      case Operation::logical_and: return static_cast<T>(a && b ? 1 : 0);
      case Operation::logical_or: return static_cast<T>(a || b ? 1 : 0);
      case Operation::logical_xor: return static_cast<T>(!a != !b ? 1 : 0);
      case Operation::bitwise_and: return static_cast<T>(a & b);
      case Operation::bitwise_or: return static_cast<T>(a | b);
      case Operation::bitwise_xor: return static_cast<T>(a ^ b);
      default: break;
    }
  ADD_FAILURE();
  return a;
}
template <class T>
struct Expected {
  static T of(Operation operation, T a, T b) { return expected_number(operation, a, b); }
};
// Numbers whose products fit, so that signed overflow does not occur here.
template <>
struct Expected<Boolean> {
  static Boolean of(Operation operation, Boolean a, Boolean b) {
    return {expected_number<std::uint8_t>(operation, a.value, b.value)};
  }
};
template <class T>
struct Expected<Complex<T>> {
  static Complex<T> of(Operation operation, Complex<T> a, Complex<T> b) {
    if (operation == Operation::sum) return {a.real + b.real, a.imaginary + b.imaginary};
    const volatile T rr = a.real * b.real, ii = a.imaginary * b.imaginary, ri = a.real * b.imaginary,
                     ir = a.imaginary * b.real;
    return {rr - ii, ri + ir};
  }
};
template <class V, class I>
struct Expected<Located<V, I>> {
  static Located<V, I> of(Operation operation, Located<V, I> a, Located<V, I> b) {
    if (a.value == b.value) return {a.value, std::min(a.index, b.index)};
    return (operation == Operation::minimum_location) == (a.value < b.value) ? a : b;
  }
};

template <class T>
struct Random {
  static T of(std::mt19937& random) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<int>(random() % 7) - (std::is_signed_v<T> ? 3 : 0));
    else
      return static_cast<T>(static_cast<int>(random() % 2001) - 1000) / 7;
  }
};
template <>
struct Random<Boolean> {
  static Boolean of(std::mt19937& random) { return {static_cast<std::uint8_t>(random() % 3 * 85)}; }
};
template <class T>
struct Random<Complex<T>> {
  static Complex<T> of(std::mt19937& random) { return {Random<T>::of(random), Random<T>::of(random)}; }
};
template <class V, class I>
struct Random<Located<V, I>> {
  static Located<V, I> of(std::mt19937& random) {
    return {static_cast<V>(static_cast<int>(random() % 4)), static_cast<I>(static_cast<int>(random() % 9))};
  }
};

/// The bytes of an element, without gaps.
template <class T>
void put(char* at, const T& value) {
  std::memcpy(at, &value, sizeof value);
}
template <class V, class I>
void put(char* at, const Located<V, I>& pair) {
  std::memcpy(at, &pair.value, sizeof pair.value);
  std::memcpy(at + sizeof pair / 2, &pair.index, sizeof pair.index);
}

template <class T>
void check(Element element, Operation operation, std::int64_t count, std::size_t sources, std::int64_t misaligned,
           bool in_place) {
  constexpr std::size_t guard = 32;
  std::mt19937 random(static_cast<unsigned>(count * 131 + static_cast<int>(operation)));
  const auto bytes = static_cast<std::size_t>(count) * sizeof(T);
  const auto shift = static_cast<std::size_t>(misaligned) * alignof(T);
  std::vector<T> values;
  std::vector<std::vector<char>> memory(sources + 1, std::vector<char>(bytes + 2 * guard + 64, '\x5A'));
  const auto begin = [&](std::size_t i) {
    auto* aligned = memory[i].data() + guard;
    aligned += 16 - reinterpret_cast<std::uintptr_t>(aligned) % 16;
    return aligned + (i == 0 || misaligned < 0 ? 0 : shift);
  };
  const auto target = in_place ? sources / 2 : sources;
  for (std::int64_t e = 0; e < count; ++e)
    for (std::size_t s = 0; s < sources; ++s) {
      const auto value = Random<T>::of(random);
      put(begin(s) + e * static_cast<std::int64_t>(sizeof(T)), value);
      if (s == 0)
        values.push_back(value);
      else
        values.back() = Expected<T>::of(operation, values.back(), value);
    }
  auto want = memory[target];
  for (std::int64_t e = 0; e < count; ++e)
    put(want.data() + (begin(target) - memory[target].data()) + e * static_cast<std::int64_t>(sizeof(T)),
        values[static_cast<std::size_t>(e)]);
  std::vector<std::uintptr_t> from;
  for (std::size_t s = 0; s < sources; ++s) from.push_back(reinterpret_cast<std::uintptr_t>(begin(s)));
  tests::EmulatedDevice device;
  ASSERT_TRUE(
      device.run(plan_reduction(element, operation, from, reinterpret_cast<std::uintptr_t>(begin(target)), count)));
  EXPECT_EQ(memory[target], want) << facts_of(element).name << ", operation " << static_cast<int>(operation) << ", "
                                  << count << " elements, " << sources << " sources, misaligned " << misaligned;
}

template <class T>
void check_all(Element element) {
  for (int op = 0; op < operation_kinds; ++op) {
    const auto operation = static_cast<Operation>(op);
    if (!applies(operation, element)) continue;
    for (const std::int64_t count : {1, 2, 3, 7, 16, 255, 1025})
      for (const std::size_t sources : {1, 2, 3, 6})
        for (const std::int64_t misaligned : {0, 1})
          for (const bool in_place : {false, true}) check<T>(element, operation, count, sources, misaligned, in_place);
  }
}

TEST(Reduction, IsTheStandardsBitForBit) {
#define CHECK(name, ...) check_all<__VA_ARGS__>(Element::name);
  DUNNAGE_REDUCTION_ELEMENTS(CHECK)
#undef CHECK
}

/// Ranks, each a thread, reduce over their own data. Rank 0 comes late, so without a handshake the
/// others would overwrite what it has to read.
template <class T>
void check_handshake(Element element, std::uint32_t ranks, std::int64_t count, bool wide) {
  const auto operation = element == Element::f64_i32 ? Operation::minimum_location : Operation::sum;
  const auto bytes = static_cast<std::size_t>(count) * sizeof(T);
  std::vector<std::vector<Word<16>>> memory(ranks, std::vector<Word<16>>(bytes / 16 + 2));
  std::vector<std::vector<std::uint64_t>> slots(ranks, std::vector<std::uint64_t>(handshake_bytes / 8));
  std::vector<std::uintptr_t> from;
  for (auto& one : memory) from.push_back(reinterpret_cast<std::uintptr_t>(one.data()) + (wide ? 0 : alignof(T)));
  std::mt19937 random(ranks);
  for (std::uint64_t number = 1; number <= 3; ++number) {
    std::vector<char> want(bytes, '\0');
    for (std::int64_t e = 0; e < count; ++e) {
      const auto at = static_cast<std::uintptr_t>(e) * sizeof(T);
      T value{};
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        const auto next = Random<T>::of(random);
        put(reinterpret_cast<char*>(from[rank] + at), next);
        value = rank == 0 ? next : Expected<T>::of(operation, value, next);
      }
      put(want.data() + at, value);
    }
    const auto run = [&](std::uint32_t rank) {
      Handshake h;
      h.number = number;
      h.ranks = ranks;
      h.wide = wide;
      h.slots = reinterpret_cast<const char*>(slots[rank].data());
      for (std::uint32_t other = 0; other < ranks; ++other)
        h.put[other] = reinterpret_cast<std::uintptr_t>(slots[other].data()) + slot_offset(0, rank);
      auto launch = plan_reduction(element, operation, from, from[rank], count, h);
      if (rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      for (const auto& kernel : emulated_kernels())
        if (name_of(launch.id) == kernel.name)
          kernel.run(launch.address(), launch.blocks, 0, [](const void* at) { return const_cast<void*>(at); });
    };
    std::vector<std::thread> threads;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) threads.emplace_back(run, rank);
    for (auto& thread : threads) thread.join();
    for (std::uint32_t rank = 0; rank < ranks; ++rank)  // gaps are zeros here, and stay so
      ASSERT_EQ(std::memcmp(reinterpret_cast<const char*>(from[rank]), want.data(), bytes), 0)
          << facts_of(element).name << ", rank " << rank << " of " << ranks << ", call " << number;
  }
}

TEST(Reduction, WithAHandshakeRanksWriteWhenAllHaveRead) {
  for (const std::uint32_t ranks : {2u, 3u, 8u}) {
    check_handshake<double>(Element::f64, ranks, 2, true);
    check_handshake<double>(Element::f64, ranks, 1030, true);
    check_handshake<double>(Element::f64, ranks, 777, false);
    check_handshake<std::uint8_t>(Element::u8, ranks, 4096, true);
    check_handshake<Located<double, std::int32_t>>(Element::f64_i32, ranks, 300, false);
  }
}

TEST(Reduction, BlocksOfAHandshakeDependOnTheLengthOnly) {
  EXPECT_EQ(reduction_blocks(Element::f32, 1024, true), 1u);
  EXPECT_EQ(reduction_blocks(Element::f32, 1024, false), 4u);
  Handshake h;
  h.ranks = 2;
  const std::uintptr_t from[] = {4096, 8192};
  EXPECT_EQ(plan_reduction(Element::f32, Operation::sum, from, 16, 1024, h).blocks, 4u);
  h.wide = true;
  EXPECT_EQ(plan_reduction(Element::f32, Operation::sum, from, 16, 1024, h).blocks, 1u);
}

TEST(Reduction, WrapsAround) {
  const std::int16_t a[] = {32767, -32768, 300}, b[] = {1, -1, 300};
  std::int16_t sum[3], product[3];
  tests::EmulatedDevice device;
  const std::uintptr_t from[] = {reinterpret_cast<std::uintptr_t>(a), reinterpret_cast<std::uintptr_t>(b)};
  ASSERT_TRUE(device.run(plan_reduction(Element::i16, Operation::sum, from, reinterpret_cast<std::uintptr_t>(sum), 3)));
  ASSERT_TRUE(
      device.run(plan_reduction(Element::i16, Operation::product, from, reinterpret_cast<std::uintptr_t>(product), 3)));
  EXPECT_EQ(sum[0], -32768);
  EXPECT_EQ(sum[1], 32767);
  EXPECT_EQ(product[2], static_cast<std::int16_t>(90000));
}

TEST(Reduction, FactsAreThoseOfC) {
  struct DoubleInt {
    double value;
    int index;
  };
  struct ShortInt {
    short value;
    int index;
  };
  EXPECT_EQ(facts_of(Element::f64_i32).extent, sizeof(DoubleInt));
  EXPECT_EQ(facts_of(Element::i16_i32).extent, sizeof(ShortInt));
  EXPECT_TRUE(facts_of(Element::f64_i32).gaps());
  EXPECT_TRUE(facts_of(Element::i16_i32).gaps());
  EXPECT_FALSE(facts_of(Element::i32_i32).gaps());
  EXPECT_EQ(facts_of(Element::c64).extent, 16);
  EXPECT_FALSE(applies(Operation::minimum, Element::c32));
  EXPECT_FALSE(applies(Operation::bitwise_and, Element::f64));
  EXPECT_FALSE(applies(Operation::sum, Element::boolean));
  EXPECT_TRUE(applies(Operation::logical_xor, Element::boolean));
}

TEST(Reduction, ReadsChunksWhereAddressesAreAligned) {
  const std::uintptr_t from[] = {4096, 8192};
  EXPECT_TRUE(std::get<Reduction>(plan_reduction(Element::f32, Operation::sum, from, 16, 1024).parameters).wide);
  EXPECT_EQ(plan_reduction(Element::f32, Operation::sum, from, 16, 1024).blocks, 1u);
  EXPECT_FALSE(std::get<Reduction>(plan_reduction(Element::f32, Operation::sum, from, 20, 1024).parameters).wide);
  EXPECT_EQ(plan_reduction(Element::f32, Operation::sum, from, 20, 1024).blocks, 4u);
  EXPECT_EQ(plan_reduction(Element::f32, Operation::sum, from, 16, 0).blocks, 0u);
}

}  // namespace
}  // namespace dunnage::pack::cuda
