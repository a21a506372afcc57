#include "halo/domain.hpp"

namespace bench::halo {
namespace {

int tag_of(const Triple& d) { return (d[0] + 1) + 3 * (d[1] + 1) + 9 * (d[2] + 1); }

}  // namespace

Domain::Domain(MPI_Comm comm, Where where, int cells, int ghost, int variables)
    : comm_(comm), cells_(cells), ghost_(ghost), side_(cells + 2 * ghost), variables_(variables) {
  Triple slowest_first, periodic, place;
  MPI_Cart_get(comm, 3, slowest_first.data(), periodic.data(), place.data());
  for (std::size_t k = 0; k < 3; ++k) {
    ranks_[k] = slowest_first[2 - k];
    here_[k] = place[2 - k];
  }
  memory_ = Memory(where, bytes());
  image_.resize(bytes() / sizeof(double));
  for (int z = -1; z <= 1; ++z)
    for (int y = -1; y <= 1; ++y)
      for (int x = -1; x <= 1; ++x)
        if (x || y || z) regions_.push_back(region({x, y, z}, 0));
  for (int k = 0; k < 3; ++k)
    for (const int towards : {-1, 1}) {
      Triple direction{};
      direction[static_cast<std::size_t>(k)] = towards;
      faces_.push_back(region(direction, k));
    }
}

Region Domain::region(const Triple& d, int with_ghosts) const {
  Region made{d, 0, tag_of(d), tag_of({-d[0], -d[1], -d[2]}), {}, {}};
  Triple slowest_first;
  for (std::size_t k = 0; k < 3; ++k) {
    slowest_first[2 - k] = here_[k] + d[k];
    const bool wide = static_cast<int>(k) < with_ghosts;
    auto &inner = made.inner, &ghosts = made.ghost;
    inner.length[k] = ghosts.length[k] = d[k] ? ghost_ : wide ? side_ : cells_;
    inner.begin[k] = d[k] ? (d[k] < 0 ? ghost_ : cells_) : wide ? 0 : ghost_;
    ghosts.begin[k] = d[k] ? (d[k] < 0 ? 0 : ghost_ + cells_) : inner.begin[k];
  }
  MPI_Cart_rank(comm_, slowest_first.data(), &made.peer);
  return made;
}

std::int64_t Domain::exchanged_bytes() const {
  std::int64_t cells = 0;
  for (const auto& region : regions_) cells += region.ghost.cells();
  return cells * variables_ * std::int64_t{sizeof(double)};
}

template <class F>
void Domain::each(F&& f) {
  auto* cell = image_.data();
  for (int v = 0; v < variables_; ++v)
    for (int z = 0; z < side_; ++z)
      for (int y = 0; y < side_; ++y)
        for (int x = 0; x < side_; ++x) f(v, Triple{x, y, z}, *cell++);
}

double Domain::value(int variable, const Triple& cell, int round) const {
  double place = 0;  // of the cell in the whole grid; exact
  for (std::size_t k = 3; k-- > 0;) {
    const int length = ranks_[k] * cells_;
    place = place * length + (here_[k] * cells_ + cell[k] - ghost_ + length) % length;
  }
  return place * 64 + variable + 0.5 * (round % 2) + 1e-3 * (round % 64);
}

void Domain::fill(int round) {
  each([&](int v, const Triple& cell, double& content) {
    bool inside = true;
    for (const int x : cell) inside &= x >= ghost_ && x < ghost_ + cells_;
    content = inside ? value(v, cell, round) : -1;
  });
  put(memory_.place(), reinterpret_cast<const std::byte*>(image_.data()), bytes());
}

std::int64_t Domain::wrong(int round) {
  get(reinterpret_cast<std::byte*>(image_.data()), memory_.place(), bytes());
  std::int64_t count = 0;
  each([&](int v, const Triple& cell, double& content) { count += content != value(v, cell, round); });
  return count;
}

MPI_Datatype type_of(const Domain& domain, const Box& box, bool all_variables) {
  int sizes[3], lengths[3], begins[3];  // the slowest dimension first
  for (std::size_t k = 0; k < 3; ++k) {
    sizes[k] = domain.sides()[2 - k];
    lengths[k] = box.length[2 - k];
    begins[k] = box.begin[2 - k];
  }
  MPI_Datatype one, type;
  MPI_Type_create_subarray(3, sizes, lengths, begins, MPI_ORDER_C, MPI_DOUBLE, &one);
  MPI_Type_create_hvector(all_variables ? domain.variables() : 1, 1, domain.variable_bytes(), one, &type);
  MPI_Type_free(&one);
  MPI_Type_commit(&type);
  return type;
}

}  // namespace bench::halo
