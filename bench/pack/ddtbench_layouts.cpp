#include "ddtbench_layouts.hpp"

#include "index_lists.hpp"
#include "loops.hpp"

namespace bench {

namespace {

/// Places several fields in one buffer. Each field begins on a cache line of its own, as an
/// allocator would place it.
class Fields {
 public:
  std::size_t add(std::size_t bytes) {
    const std::size_t offset = end_;
    end_ += (bytes + 63) / 64 * 64;
    return offset;
  }
  std::size_t bytes() const { return end_; }

 private:
  std::size_t end_ = 0;
};

/// Returns a struct of one element of each type. The paper gives the fields' absolute addresses and
/// MPI_BOTTOM. Here the addresses are relative to the first field, because MPICH 4.0's MPI_Pack
/// takes MPI_BOTTOM for a missing buffer and aborts.
Datatype structure_of(const std::vector<std::size_t>& offsets, const std::vector<MPI_Datatype>& types) {
  const std::vector<MPI_Aint> displacements(offsets.begin(), offsets.end());
  return Datatype::structure(std::vector<int>(types.size(), 1), displacements, types).commit();
}

}  // namespace

Layout wrf_halo(WrfExtent grid, WrfExtent start, WrfExtent halo) {
  constexpr int fields_2d = 4, fields_3d = 3, fields_4d = 2;
  // The first of a 4-D field's two scalars is not exchanged.
  constexpr int scalars = 2, sent_scalar = 1;

  const std::size_t pitch = size(grid.x);
  const std::size_t area = pitch * size(grid.j);
  const std::size_t volume = area * size(grid.k);
  const std::size_t plane = pitch * size(grid.k);
  const std::size_t start_2d = size(start.j) * pitch + size(start.x);
  const std::size_t start_3d = size(start.j) * plane + size(start.k) * pitch + size(start.x);
  const Box box_2d = {size(halo.x), 1, size(halo.j), pitch, pitch};
  const Box box_3d = {size(halo.x), size(halo.k), size(halo.j), pitch, plane};

  Fields fields;
  std::vector<std::size_t> offsets;
  std::vector<std::pair<std::size_t, Box>> boxes;  // first byte of the halo in each field, and its shape
  for (int i = 0; i < fields_2d; ++i) {
    offsets.push_back(fields.add(area * sizeof(float)));
    boxes.push_back({offsets.back() + start_2d * sizeof(float), box_2d});
  }
  for (int i = 0; i < fields_3d; ++i) {
    offsets.push_back(fields.add(volume * sizeof(float)));
    boxes.push_back({offsets.back() + start_3d * sizeof(float), box_3d});
  }
  for (int i = 0; i < fields_4d; ++i) {
    offsets.push_back(fields.add(scalars * volume * sizeof(float)));
    boxes.push_back({offsets.back() + (sent_scalar * volume + start_3d) * sizeof(float), box_3d});
  }

  Layout layout;
  layout.buffer_bytes = fields.bytes();
  layout.datatype = [=]() {
    const Datatype field_2d = Datatype::subarray({grid.j, grid.x}, {halo.j, halo.x}, {start.j, start.x}, MPI_FLOAT);
    const Datatype field_3d =
        Datatype::subarray({grid.j, grid.k, grid.x}, {halo.j, halo.k, halo.x}, {start.j, start.k, start.x}, MPI_FLOAT);
    const Datatype field_4d =
        Datatype::subarray({scalars, grid.j, grid.k, grid.x}, {scalars - sent_scalar, halo.j, halo.k, halo.x},
                           {sent_scalar, start.j, start.k, start.x}, MPI_FLOAT);
    std::vector<MPI_Datatype> types;
    types.insert(types.end(), fields_2d, field_2d);
    types.insert(types.end(), fields_3d, field_3d);
    types.insert(types.end(), fields_4d, field_4d);
    return structure_of(offsets, types);
  };
  set_loops(layout, [boxes](auto move, std::byte* user, std::byte* packed) {
    for (const auto& [first, box] : boxes) {
      rows<float>(box)(move, user + first, packed);
      packed += box.width * box.height * box.depth * sizeof(float);
    }
  });
  return layout;
}

Layout milc_su3_z(int x, int y, int z, int t) {
  constexpr int su3 = 6;
  const std::size_t half_plane = size(x) * size(y) / 2;  // sites of one parity in a z plane
  const std::size_t half_volume = half_plane * size(z);
  const std::size_t half_lattice = half_volume * size(t);

  Layout layout;
  layout.buffer_bytes = 2 * half_lattice * su3 * sizeof(float);
  layout.datatype = [=]() {
    const Datatype vector = Datatype::contiguous(su3, MPI_FLOAT);
    const Datatype parity = Datatype::vector(t, static_cast<int>(half_plane), static_cast<int>(half_volume), vector);
    const auto stride = static_cast<MPI_Aint>(half_lattice * su3 * sizeof(float));
    return Datatype::hvector(2, 1, stride, parity).commit();
  };
  set_loops(layout, rows<float>({half_plane * su3, size(t), 2, half_volume * su3, half_lattice * su3}));
  return layout;
}

Layout nas_lu_x(int n2, int n3) {
  const std::size_t pitch = 5 * (size(n2) + 2);
  Layout layout;
  layout.buffer_bytes = pitch * (size(n3) + 2) * sizeof(double);
  layout.origin = (size(n3) * pitch + 5) * sizeof(double);
  layout.datatype = [=]() { return Datatype::contiguous(5 * n2, MPI_DOUBLE).commit(); };
  set_loops(layout, rows<double>({5 * size(n2), 1, 1, 0, 0}));
  return layout;
}

Layout nas_lu_y(int n2, int n3) {
  const std::size_t pitch = 5 * (size(n2) + 2);
  Layout layout;
  layout.buffer_bytes = pitch * (size(n3) + 2) * sizeof(double);
  layout.origin = (pitch + 5 * size(n2)) * sizeof(double);
  layout.datatype = [=]() { return Datatype::vector(n3, 1, n2 + 2, Datatype::contiguous(5, MPI_DOUBLE)).commit(); };
  set_loops(layout, [=](auto move, std::byte* user, std::byte* packed) {
    auto* __restrict u = reinterpret_cast<double*>(user);
    auto* __restrict p = reinterpret_cast<double*>(packed);
    for (int k = 0; k < n3; ++k, u += pitch, p += 5)
      for (int m = 0; m < 5; ++m) move(u[m], p[m]);
  });
  return layout;
}

namespace {

/// A face of NAS MG's array that starts at point (x, y, z).
Layout nas_mg_face(int n1, int n2, int n3, int x, int y, int z) {
  Layout layout;
  layout.buffer_bytes = size(n1) * size(n2) * size(n3) * sizeof(double);
  layout.origin = ((size(z) * size(n2) + size(y)) * size(n1) + size(x)) * sizeof(double);
  return layout;
}

}  // namespace

Layout nas_mg_x(int n1, int n2, int n3) {
  Layout layout = nas_mg_face(n1, n2, n3, n1 - 2, 1, 1);
  layout.datatype = [=]() {
    const auto plane = static_cast<MPI_Aint>(size(n1) * size(n2) * sizeof(double));
    return Datatype::hvector(n3 - 2, 1, plane, Datatype::vector(n2 - 2, 1, n1, MPI_DOUBLE)).commit();
  };
  set_loops(layout, column<double>({1, size(n2 - 2), size(n3 - 2), size(n1), size(n1) * size(n2)}));
  return layout;
}

Layout nas_mg_y(int n1, int n2, int n3) {
  Layout layout = nas_mg_face(n1, n2, n3, 1, n2 - 2, 1);
  layout.datatype = [=]() { return Datatype::vector(n3 - 2, n1 - 2, n1 * n2, MPI_DOUBLE).commit(); };
  set_loops(layout, rows<double>({size(n1 - 2), 1, size(n3 - 2), 0, size(n1) * size(n2)}));
  return layout;
}

Layout nas_mg_z(int n1, int n2, int n3) {
  Layout layout = nas_mg_face(n1, n2, n3, 1, 1, 1);
  layout.datatype = [=]() { return Datatype::vector(n2 - 2, n1 - 2, n1, MPI_DOUBLE).commit(); };
  set_loops(layout, rows<double>({size(n1 - 2), size(n2 - 2), 1, size(n1), 0}));
  return layout;
}

Layout fft2_transpose(int n, int processes) {
  struct Complex {
    double real, imaginary;
  };
  const int share = n / processes;  // rows of each process

  Layout layout;
  layout.buffer_bytes = size(n) * size(share) * sizeof(Complex);
  layout.count = processes;
  layout.datatype = [=]() {
    const Datatype complex = Datatype::contiguous(2, MPI_DOUBLE);
    const Datatype column = Datatype::resized(sizeof(Complex), Datatype::vector(share, 1, n, complex));
    return Datatype::contiguous(share, column).commit();
  };
  set_loops(layout, column<Complex>({1, size(share), size(n), size(n), 1}));
  return layout;
}

namespace {

Layout lammps(int atoms, int sent, int scalar_fields) {
  const IndexList places = shuffled_places(sent, atoms, 1);
  auto scaled = *places;
  for (int& place : scaled) place *= 3;
  const IndexList places3 = std::make_shared<const std::vector<int>>(std::move(scaled));

  Fields fields;
  std::vector<std::size_t> offsets = {fields.add(3 * size(atoms) * sizeof(double))};
  for (int i = 0; i < scalar_fields; ++i) offsets.push_back(fields.add(size(atoms) * sizeof(double)));

  Layout layout;
  layout.buffer_bytes = fields.bytes();
  layout.datatype = [=]() {
    const Datatype positions = Datatype::indexed_block(3, *places3, MPI_DOUBLE);
    const Datatype scalars = Datatype::indexed_block(1, *places, MPI_DOUBLE);
    std::vector<MPI_Datatype> types = {positions};
    types.insert(types.end(), size(scalar_fields), scalars);
    return structure_of(offsets, types);
  };
  set_loops(layout, [=](auto move, std::byte* user, std::byte* packed) {
    indexed<double, 3>(places3)(move, user + offsets[0], packed);
    packed += 3 * size(sent) * sizeof(double);
    for (std::size_t i = 1; i < offsets.size(); ++i) {
      indexed<double, 1>(places)(move, user + offsets[i], packed);
      packed += size(sent) * sizeof(double);
    }
  });
  return layout;
}

}  // namespace

Layout lammps_atomic(int atoms, int sent) { return lammps(atoms, sent, 3); }

Layout lammps_full(int atoms, int sent) { return lammps(atoms, sent, 5); }

Layout specfem3d_oc(int points, int sent) {
  const IndexList places = shuffled_places(sent, points, 1);
  Layout layout;
  layout.buffer_bytes = size(points) * sizeof(float);
  layout.datatype = [=]() { return Datatype::indexed_block(1, *places, MPI_FLOAT).commit(); };
  set_loops(layout, indexed<float, 1>(places));
  return layout;
}

Layout specfem3d_cm(int crust_points, int crust_sent, int core_points, int core_sent) {
  const IndexList crust = shuffled_places(crust_sent, crust_points, 3);
  const IndexList core = shuffled_places(core_sent, core_points, 3);
  Fields fields;
  const std::size_t crust_offset = fields.add(3 * size(crust_points) * sizeof(float));
  const std::size_t core_offset = fields.add(3 * size(core_points) * sizeof(float));

  Layout layout;
  layout.buffer_bytes = fields.bytes();
  layout.datatype = [=]() {
    const Datatype crust_type = Datatype::indexed_block(3, *crust, MPI_FLOAT);
    const Datatype core_type = Datatype::indexed_block(3, *core, MPI_FLOAT);
    return structure_of({crust_offset, core_offset}, {crust_type, core_type});
  };
  set_loops(layout, [=](auto move, std::byte* user, std::byte* packed) {
    indexed<float, 3>(crust)(move, user + crust_offset, packed);
    indexed<float, 3>(core)(move, user + core_offset, packed + 3 * crust->size() * sizeof(float));
  });
  return layout;
}

Layout specfem3d_mt(int groups) {
  Layout layout;
  layout.buffer_bytes = 2 * 3 * size(groups) * sizeof(float);
  layout.datatype = [=]() { return Datatype::vector(groups, 1, 2, Datatype::contiguous(3, MPI_FLOAT)).commit(); };
  set_loops(layout, [=](auto move, std::byte* user, std::byte* packed) {
    auto* __restrict u = reinterpret_cast<float*>(user);
    auto* __restrict p = reinterpret_cast<float*>(packed);
    for (int k = 0; k < groups; ++k, u += 6, p += 3)
      for (int m = 0; m < 3; ++m) move(u[m], p[m]);
  });
  return layout;
}

}  // namespace bench
