#include "hooked.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <type_traits>

#include "shim/backend.h"

extern "C" void* const* dunnage_backend(const dunnage_front* front);

namespace dunnage::mpi::test {
namespace {

NextTable load() {
  // What a test sets, it sets in `process`. A variable of the user's must not count.
  for (char** variable = environ; *variable;) {
    const std::string text = *variable;
    if (text.starts_with("DUNNAGE"))
      unsetenv(text.substr(0, text.find('=')).c_str());
    else
      ++variable;
  }
  fake::reset();
  constexpr const char* names[] = {
#define DUNNAGE_HOOK(name) #name,
#include "shim/hook_list.inc"
#undef DUNNAGE_HOOK
  };
  static void* functions[std::size(names)];
  std::ranges::transform(names, functions, fake::find);
  const dunnage_front front{fake::find, functions, "", 1};
  void* const* hooks = dunnage_backend(&front);
  if (!hooks) throw std::logic_error("the backend does not start on the fake MPI");
  // Without a hook the program calls the MPI's function.
  for (std::size_t i = 0; i < std::size(names); ++i)
    if (hooks[i]) functions[i] = hooks[i];
  // The first names are those of NextTable, in its order.
  NextTable calls;
  static_assert(sizeof calls <= sizeof functions && std::is_trivially_copyable_v<NextTable>);
  std::memcpy(static_cast<void*>(&calls), functions, sizeof calls);
  calls.MPI_Init(nullptr, nullptr);
  return calls;
}

}  // namespace

const NextTable& program() {
  static const NextTable calls = load();
  return calls;
}

MPI_Datatype columns() { return fake::vector(40, 3, 10, MPI_INT); }

std::string message(std::size_t bytes, unsigned seed) {
  std::string data(bytes, ' ');
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<char>(i * 31 + seed);
  return data;
}

Hooked::Hooked() : mpi(program()) {
  fake::reset();
  process->settings.force = base::Force::always;
}

void Hooked::TearDown() {
  EXPECT_TRUE(process->requests.empty()) << "Dunnage kept an operation of a request that has ended";
  EXPECT_EQ(fake::requests(), 0u) << "requests are left in the MPI";
  EXPECT_EQ(fake::unreceived(), 0u) << "messages to rank 0 are left";
  for (int rank = 1; rank < fake::ranks; ++rank) EXPECT_TRUE(fake::taken_by(rank).empty()) << "messages are left";
  EXPECT_TRUE(fake::errors_are_fatal()) << "MPI_COMM_WORLD has another error handler than the program gave it";
  EXPECT_EQ(fake::errors(), std::vector<int>{}) << "error handlers were called";
}

Memory::Memory(std::int64_t count, MPI_Datatype type, unsigned seed) : count_(count), type_(type) {
  constexpr std::int64_t guard = 64;
  const auto& t = fake::type_of(type);
  MPI_Count low = 0, extent = 0;
  fake::Type_get_true_extent_x(type, &low, &extent);
  const auto last = (std::max<std::int64_t>(count, 1) - 1) * t.extent;
  const auto begin = std::min<std::int64_t>(low, low + last), end = std::max<std::int64_t>(low, low + last) + extent;
  origin_ = guard - begin;
  bytes_.resize(static_cast<std::size_t>(end - begin + 2 * guard));
  fill(seed);
}

void Memory::fill(unsigned seed) {
  for (std::size_t i = 0; i < bytes_.size(); ++i)
    bytes_[i] = seed == 0 ? 0xA5 : static_cast<unsigned char>((i * 2654435761u + seed * 40503u) >> 7);
}

Memory Memory::with(const std::string& message) const {
  Memory result = *this;
  fake::unpack(message, result.data(), count_, type_);
  return result;
}

}  // namespace dunnage::mpi::test
