#include "constructors.hpp"

#include "pack/index_lists.hpp"

namespace bench {

namespace {

MPI_Datatype vector() {
  MPI_Datatype type;
  MPI_Type_vector(100, 1, 2, MPI_DOUBLE, &type);
  return type;
}

MPI_Datatype hvector_of_vector() {
  MPI_Datatype row, type;
  MPI_Type_vector(10, 4, 8, MPI_DOUBLE, &row);
  MPI_Type_create_hvector(10, 1, 1024, row, &type);
  MPI_Type_free(&row);
  return type;
}

MPI_Datatype subarray() {
  const int sizes[] = {16, 16, 16}, part[] = {4, 5, 6}, starts[] = {1, 2, 3};
  MPI_Datatype type;
  MPI_Type_create_subarray(3, sizes, part, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
  return type;
}

MPI_Datatype structure() {
  const int lengths[] = {1, 2, 5};
  const MPI_Aint places[] = {0, 8, 24};
  const MPI_Datatype members[] = {MPI_INT, MPI_DOUBLE, MPI_FLOAT};
  MPI_Datatype type;
  MPI_Type_create_struct(3, lengths, places, members, &type);
  return type;
}

MPI_Datatype indexed_of_4() {
  const int lengths[] = {1, 2, 3, 1}, places[] = {0, 3, 8, 20};
  MPI_Datatype type;
  MPI_Type_indexed(4, lengths, places, MPI_DOUBLE, &type);
  return type;
}

/// Adds the three constructors that take a list, each over the same places. Blocks have one double.
/// Over irregular places, the blocks of `indexed` have one and two doubles, so that the lengths
/// have to be examined.
void add_lists(std::vector<Constructor>& all, const std::string& suffix, const IndexList& places, bool irregular) {
  const int n = static_cast<int>(places->size());
  std::vector<int> lengths(places->size(), 1);
  std::vector<MPI_Aint> bytes;
  for (std::size_t i = 0; i < places->size(); ++i) {
    if (irregular) lengths[i] += (*places)[i] % 2;
    bytes.push_back(static_cast<MPI_Aint>((*places)[i]) * 8);
  }
  all.push_back({"indexed" + suffix, true, n, [n, places, lengths = std::move(lengths)] {
                   MPI_Datatype type;
                   MPI_Type_indexed(n, lengths.data(), places->data(), MPI_DOUBLE, &type);
                   return type;
                 }});
  all.push_back({"hindexed" + suffix, true, n, [n, ones = std::vector<int>(bytes.size(), 1), bytes] {
                   MPI_Datatype type;
                   MPI_Type_create_hindexed(n, ones.data(), bytes.data(), MPI_DOUBLE, &type);
                   return type;
                 }});
  all.push_back({"indexed_block" + suffix, true, n, [n, places] {
                   MPI_Datatype type;
                   MPI_Type_create_indexed_block(n, 1, places->data(), MPI_DOUBLE, &type);
                   return type;
                 }});
}

/// Returns rows of ten places: two nested loops, which an analysis can find.
IndexList regular_places(int n) {
  std::vector<int> places(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) places[static_cast<std::size_t>(i)] = i / 10 * 40 + i % 10 * 3;
  return std::make_shared<const std::vector<int>>(std::move(places));
}

}  // namespace

std::vector<Constructor> constructors(int most) {
  std::vector<Constructor> all = {
      {"vector", false, 100, vector},           {"hvector of vector", false, 10, hvector_of_vector},
      {"subarray 3-D", false, 4, subarray},     {"struct of 3", false, 3, structure},
      {"indexed of 4", false, 4, indexed_of_4},
  };
  for (int n = 10; n <= most; n *= 10) {
    add_lists(all, ", irregular", increasing_places(n, 4, 2), true);
    add_lists(all, ", regular", regular_places(n), false);
  }
  return all;
}

}  // namespace bench
