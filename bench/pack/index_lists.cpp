#include "index_lists.hpp"

#include <numeric>
#include <random>
#include <utility>

namespace bench {

namespace {

// Every run and every MPI must see the same lists. The standard fixes this generator's numbers, but
// not those of the distributions. The functions below therefore take remainders.
constexpr unsigned seed = 20121;

}  // namespace

IndexList increasing_places(int count, int slot, int width) {
  std::mt19937 random(seed);
  std::vector<int> places(static_cast<std::size_t>(count));
  const unsigned choices = static_cast<unsigned>(slot - width + 1);
  int first = 0;
  for (int& place : places) {
    place = first + static_cast<int>(random() % choices);
    first += slot;
  }
  return std::make_shared<const std::vector<int>>(std::move(places));
}

IndexList shuffled_places(int count, int range, int width) {
  std::mt19937 random(seed);
  std::vector<int> places(static_cast<std::size_t>(range));
  std::iota(places.begin(), places.end(), 0);
  for (int i = 0; i < count; ++i) {
    const auto left = static_cast<unsigned>(range - i);
    std::swap(places[static_cast<std::size_t>(i)], places[static_cast<std::size_t>(i) + random() % left]);
  }
  places.resize(static_cast<std::size_t>(count));
  for (int& place : places) place *= width;
  return std::make_shared<const std::vector<int>>(std::move(places));
}

}  // namespace bench
