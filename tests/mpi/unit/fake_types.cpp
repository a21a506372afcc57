#include "fake_types.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <stdexcept>

namespace fake {
namespace {

/// Handles are never used again, so that a test meets no type of another test.
std::map<MPI_Datatype, Type>& derived() {
  static auto* types = new std::map<MPI_Datatype, Type>;
  return *types;
}

MPI_Datatype add(Type type) {
  static unsigned next = 0xcc000000u;  // MPICH's derived datatypes begin here
  type.size = 0;
  for (const auto& [offset, length] : type.blocks) type.size += length;
  const auto handle = static_cast<MPI_Datatype>(++next);
  derived().emplace(handle, std::move(type));
  return handle;
}

template <class T>
Type pair_type() {
  struct Pair {
    T value;
    int index;
  };
  Type type;
  type.blocks = {{0, sizeof(T)}, {offsetof(Pair, index), sizeof(int)}};
  type.extent = sizeof(Pair);
  type.size = sizeof(T) + sizeof(int);
  return type;
}

Type predefined(MPI_Datatype handle) {
  switch (handle) {
    case MPI_FLOAT_INT: return pair_type<float>();
    case MPI_DOUBLE_INT: return pair_type<double>();
    case MPI_LONG_INT: return pair_type<long>();
    case MPI_SHORT_INT: return pair_type<short>();
    case MPI_LONG_DOUBLE_INT: return pair_type<long double>();
    default: break;
  }
  Type type;
  type.size = type.extent = (handle >> 8) & 0xff;  // MPICH's handles tell the size
  type.blocks = {{0, type.size}};
  return type;
}

bool is_predefined(MPI_Datatype type) { return (static_cast<unsigned>(type) >> 26) != (0xcc000000u >> 26); }

/// Adds the blocks of `count` elements that begin at `offset`.
void append(Type& to, const Type& old, MPI_Aint offset, MPI_Aint count) {
  for (MPI_Aint i = 0; i < count; ++i)
    for (const auto& [at, length] : old.blocks) to.blocks.emplace_back(offset + i * old.extent + at, length);
}

/// Sets the bounds by those of the old type's elements, which begin at these offsets.
void bound(Type& type, const Type& old, const std::vector<std::pair<MPI_Aint, MPI_Aint>>& elements) {
  MPI_Aint low = 0, high = 0;
  bool any = false;
  for (const auto& [offset, count] : elements) {
    if (count == 0) continue;
    const auto begin = offset + old.lb, end = offset + old.lb + count * old.extent;
    low = any ? std::min(low, begin) : begin;
    high = any ? std::max(high, end) : end;
    any = true;
  }
  type.lb = low;
  type.extent = high - low;
}

}  // namespace

const Type& type_of(MPI_Datatype handle) {
  static auto* plain = new std::map<MPI_Datatype, Type>;
  if (is_predefined(handle)) return plain->try_emplace(handle, predefined(handle)).first->second;
  const auto found = derived().find(handle);
  if (found == derived().end()) throw std::logic_error("the fake MPI was given a datatype that is none");
  return found->second;
}

MPI_Datatype contiguous(int count, MPI_Datatype old) {
  Type type;
  type.combiner = MPI_COMBINER_CONTIGUOUS;
  type.integers = {count};
  type.types = {old};
  append(type, type_of(old), 0, count);
  bound(type, type_of(old), {{0, count}});
  return add(std::move(type));
}

MPI_Datatype vector(int count, int blocklength, int stride, MPI_Datatype old) {
  Type type;
  type.combiner = MPI_COMBINER_VECTOR;
  type.integers = {count, blocklength, stride};
  type.types = {old};
  std::vector<std::pair<MPI_Aint, MPI_Aint>> elements;
  for (int i = 0; i < count; ++i) elements.emplace_back(MPI_Aint{i} * stride * type_of(old).extent, blocklength);
  for (const auto& [offset, n] : elements) append(type, type_of(old), offset, n);
  bound(type, type_of(old), elements);
  return add(std::move(type));
}

MPI_Datatype hindexed(const std::vector<int>& lengths, const std::vector<MPI_Aint>& offsets, MPI_Datatype old) {
  Type type;
  type.combiner = MPI_COMBINER_HINDEXED;
  type.integers = {static_cast<int>(lengths.size())};
  type.integers.insert(type.integers.end(), lengths.begin(), lengths.end());
  type.addresses = offsets;
  type.types = {old};
  std::vector<std::pair<MPI_Aint, MPI_Aint>> elements;
  for (std::size_t i = 0; i < lengths.size(); ++i) elements.emplace_back(offsets[i], lengths[i]);
  for (const auto& [offset, n] : elements) append(type, type_of(old), offset, n);
  bound(type, type_of(old), elements);
  return add(std::move(type));
}

MPI_Datatype resized(MPI_Datatype old, MPI_Aint lb, MPI_Aint extent) {
  Type type = type_of(old);
  type.combiner = MPI_COMBINER_RESIZED;
  type.integers = {};
  type.addresses = {lb, extent};
  type.types = {old};
  type.lb = lb;
  type.extent = extent;
  return add(std::move(type));
}

std::string pack(const void* buffer, std::int64_t count, MPI_Datatype handle) {
  const auto& type = type_of(handle);
  std::string data;
  for (std::int64_t i = 0; i < count; ++i)
    for (const auto& [offset, length] : type.blocks)
      data.append(static_cast<const char*>(buffer) + i * type.extent + offset, static_cast<std::size_t>(length));
  return data;
}

void unpack(const std::string& data, void* buffer, std::int64_t count, MPI_Datatype handle) {
  const auto& type = type_of(handle);
  std::size_t done = 0;
  for (std::int64_t i = 0; i < count; ++i)
    for (const auto& [offset, length] : type.blocks) {
      const auto n = std::min(static_cast<std::size_t>(length), data.size() - done);
      if (n == 0) return;
      std::memcpy(static_cast<char*>(buffer) + i * type.extent + offset, data.data() + done, n);
      done += n;
    }
}

int Type_contiguous(int count, MPI_Datatype old, MPI_Datatype* made) {
  *made = contiguous(count, old);
  return MPI_SUCCESS;
}

int Type_create_hindexed(int count, const int lengths[], const MPI_Aint offsets[], MPI_Datatype old,
                         MPI_Datatype* made) {
  *made = hindexed({lengths, lengths + count}, {offsets, offsets + count}, old);
  return MPI_SUCCESS;
}

int Type_commit(MPI_Datatype* type) {
  type_of(*type);
  return MPI_SUCCESS;
}

int Type_dup(MPI_Datatype old, MPI_Datatype* made) {
  Type type = type_of(old);
  type.combiner = MPI_COMBINER_DUP;
  type.integers = {};
  type.addresses = {};
  type.types = {old};
  *made = add(std::move(type));
  return MPI_SUCCESS;
}

int Type_free(MPI_Datatype* type) {
  // Requests that are under way keep what they need, and nothing counts references here.
  type_of(*type);
  *type = MPI_DATATYPE_NULL;
  return MPI_SUCCESS;
}

int Type_size_x(MPI_Datatype type, MPI_Count* size) {
  *size = type_of(type).size;
  return MPI_SUCCESS;
}

int Type_get_extent_x(MPI_Datatype type, MPI_Count* lb, MPI_Count* extent) {
  *lb = type_of(type).lb;
  *extent = type_of(type).extent;
  return MPI_SUCCESS;
}

int Type_get_true_extent_x(MPI_Datatype handle, MPI_Count* lb, MPI_Count* extent) {
  const auto& type = type_of(handle);
  MPI_Aint low = 0, high = 0;
  for (std::size_t i = 0; i < type.blocks.size(); ++i) {
    const auto [offset, length] = type.blocks[i];
    low = i == 0 ? offset : std::min(low, offset);
    high = i == 0 ? offset + length : std::max(high, offset + length);
  }
  *lb = low;
  *extent = high - low;
  return MPI_SUCCESS;
}

int Type_get_envelope(MPI_Datatype handle, int* integers, int* addresses, int* types, int* combiner) {
  const auto& type = type_of(handle);
  *integers = static_cast<int>(type.integers.size());
  *addresses = static_cast<int>(type.addresses.size());
  *types = static_cast<int>(type.types.size());
  *combiner = type.combiner;
  return MPI_SUCCESS;
}

int Type_get_contents(MPI_Datatype handle, int, int, int, int integer[], MPI_Aint address[], MPI_Datatype old[]) {
  const auto& type = type_of(handle);
  std::copy(type.integers.begin(), type.integers.end(), integer);
  std::copy(type.addresses.begin(), type.addresses.end(), address);
  std::copy(type.types.begin(), type.types.end(), old);
  return MPI_SUCCESS;
}

}  // namespace fake
