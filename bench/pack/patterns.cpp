#include "patterns.hpp"

#include "basic_layouts.hpp"
#include "ddtbench_layouts.hpp"

namespace bench {

// Large patterns have at least 1 MiB of payload. The faces of 256^3 are the exception: they have
// their natural size.
// clang-format off
const std::vector<Pattern>& patterns() {
  using enum Size;
  using enum Kind;
  using enum Element;
  using enum Direction;
  using enum Description;
  static const std::vector<Pattern> table = {
    {"vector double 1/2",        large, regular,    [] { return vector(float64, 1 << 20, 1, 2); }},
    {"vector double 1/2",        small, regular,    [] { return vector(float64, 4096, 1, 2); }},
    {"vector double 1/16",       large, regular,    [] { return vector(float64, 1 << 18, 1, 16); }},
    {"vector double 1/16",       small, regular,    [] { return vector(float64, 1024, 1, 16); }},
    {"vector double 8/16",       large, regular,    [] { return vector(float64, 1 << 16, 8, 16); }},
    {"vector double 8/16",       small, regular,    [] { return vector(float64, 512, 8, 16); }},
    {"vector double 512/1024",   large, regular,    [] { return vector(float64, 1024, 512, 1024); }},
    {"vector double 512/1024",   small, regular,    [] { return vector(float64, 8, 512, 1024); }},
    {"vector float 1/2",         large, regular,    [] { return vector(float32, 1 << 20, 1, 2); }},
    {"vector float 1/2",         small, regular,    [] { return vector(float32, 8192, 1, 2); }},
    {"face x 1",                 large, regular,    [] { return face(256, x, 1); }},
    {"face x 1",                 small, regular,    [] { return face(64, x, 1); }},
    {"face x 3",                 large, regular,    [] { return face(256, x, 3); }},
    {"face x 3",                 small, regular,    [] { return face(48, x, 3); }},
    {"face y 1",                 large, regular,    [] { return face(256, y, 1); }},
    {"face y 1",                 small, regular,    [] { return face(64, y, 1); }},
    {"face y 3",                 large, regular,    [] { return face(256, y, 3); }},
    {"face y 3",                 small, regular,    [] { return face(48, y, 3); }},
    {"face z 1",                 large, contiguous, [] { return face(256, z, 1); }},
    {"face z 1",                 small, contiguous, [] { return face(64, z, 1); }},
    {"face z 3",                 large, contiguous, [] { return face(256, z, 3); }},
    {"face z 3",                 small, contiguous, [] { return face(48, z, 3); }},
    {"box vector-hvector-hvector", large, regular,  [] { return byte_box(vector_hvector_hvector, 100, 200, 300); }},
    {"box vector-hvector-hvector", small, regular,  [] { return byte_box(vector_hvector_hvector, 100, 20, 10); }},
    {"box vector-hvector",       large, regular,    [] { return byte_box(vector_hvector, 100, 200, 300); }},
    {"box vector-hvector",       small, regular,    [] { return byte_box(vector_hvector, 100, 20, 10); }},
    {"box hindexed",             large, regular,    [] { return byte_box(hindexed, 100, 200, 300); }},
    {"box hindexed",             small, regular,    [] { return byte_box(hindexed, 100, 20, 10); }},
    {"box hindexed_block",       large, regular,    [] { return byte_box(hindexed_block, 100, 200, 300); }},
    {"box hindexed_block",       small, regular,    [] { return byte_box(hindexed_block, 100, 20, 10); }},
    {"box subarray",             large, regular,    [] { return byte_box(subarray, 100, 200, 300); }},
    {"box subarray",             small, regular,    [] { return byte_box(subarray, 100, 20, 10); }},
    {"indexed_block double 1",   large, irregular,  [] { return bench::irregular(1 << 18, 1); }},
    {"indexed_block double 1",   small, irregular,  [] { return bench::irregular(2048, 1); }},
    {"indexed_block double 4",   large, irregular,  [] { return bench::irregular(1 << 16, 4); }},
    {"indexed_block double 4",   small, irregular,  [] { return bench::irregular(1024, 4); }},
    {"struct int double2 float5", large, regular,   [] { return structures(1 << 16); }},
    {"struct int double2 float5", small, regular,   [] { return structures(1024); }},
    {"transpose",                large, Kind::transpose, [] { return bench::transpose(2048); }},
    {"transpose",                small, Kind::transpose, [] { return bench::transpose(64); }},
    {"WRF x",                    large, regular,    [] { return wrf_halo({64, 65, 308}, {58, 0, 4}, {3, 65, 300}); }},
    {"WRF x",                    small, regular,    [] { return wrf_halo({19, 65, 24}, {9, 0, 4}, {3, 65, 16}); }},
    {"WRF y",                    large, regular,    [] { return wrf_halo({308, 65, 64}, {4, 0, 7}, {300, 65, 3}); }},
    {"WRF y",                    small, regular,    [] { return wrf_halo({19, 65, 24}, {4, 0, 7}, {11, 65, 3}); }},
    {"MILC su3 z",               large, regular,    [] { return milc_su3_z(32, 32, 32, 64); }},
    {"MILC su3 z",               small, regular,    [] { return milc_su3_z(8, 8, 8, 16); }},
    {"NAS LU x",                 large, contiguous, [] { return nas_lu_x(32768, 4); }},
    {"NAS LU x",                 small, contiguous, [] { return nas_lu_x(1020, 4); }},
    {"NAS LU y",                 large, regular,    [] { return nas_lu_y(32, 32768); }},
    {"NAS LU y",                 small, regular,    [] { return nas_lu_y(32, 1020); }},
    {"NAS MG x",                 large, regular,    [] { return nas_mg_x(66, 386, 386); }},
    {"NAS MG x",                 small, regular,    [] { return nas_mg_x(130, 66, 66); }},
    {"NAS MG y",                 large, regular,    [] { return nas_mg_y(514, 66, 258); }},
    {"NAS MG y",                 small, regular,    [] { return nas_mg_y(130, 66, 66); }},
    {"NAS MG z",                 large, regular,    [] { return nas_mg_z(514, 258, 6); }},
    {"NAS MG z",                 small, regular,    [] { return nas_mg_z(130, 66, 66); }},
    {"FFT2 transpose",           large, Kind::transpose, [] { return fft2_transpose(1024, 4); }},
    {"FFT2 transpose",           small, Kind::transpose, [] { return fft2_transpose(64, 4); }},
    {"LAMMPS full",              large, irregular,  [] { return lammps_full(28300, 24576); }},
    {"LAMMPS full",              small, irregular,  [] { return lammps_full(1032, 900); }},
    {"LAMMPS atomic",            large, irregular,  [] { return lammps_atomic(413000, 24576); }},
    {"LAMMPS atomic",            small, irregular,  [] { return lammps_atomic(4084, 243); }},
    {"SPECFEM3D oc",             large, irregular,  [] { return specfem3d_oc(9000000, 327680); }},
    {"SPECFEM3D oc",             small, irregular,  [] { return specfem3d_oc(88881, 3225); }},
    {"SPECFEM3D cm",             large, irregular,  [] { return specfem3d_cm(6680000, 94208, 409000, 24064); }},
    {"SPECFEM3D cm",             small, irregular,  [] { return specfem3d_cm(39929, 1957, 1225, 245); }},
    {"SPECFEM3D mt",             large, regular,    [] { return specfem3d_mt(131072); }},
    {"SPECFEM3D mt",             small, regular,    [] { return specfem3d_mt(5000); }},
  };
  return table;
}
// clang-format on

}  // namespace bench
