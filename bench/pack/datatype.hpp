#pragma once

#include <mpi.h>

#include <initializer_list>
#include <utility>
#include <vector>

namespace bench {

/// Owns one derived datatype and frees it. Intermediate types are freed as soon as the type built
/// on them exists, as applications do.
class Datatype {
 public:
  Datatype() = default;
  Datatype(Datatype&& other) noexcept : handle_(std::exchange(other.handle_, MPI_DATATYPE_NULL)) {}
  Datatype& operator=(Datatype&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Datatype() {
    if (handle_ != MPI_DATATYPE_NULL) MPI_Type_free(&handle_);
  }

  operator MPI_Datatype() const { return handle_; }

  Datatype commit() && {
    MPI_Type_commit(&handle_);
    return std::move(*this);
  }

  static Datatype contiguous(int count, MPI_Datatype old) {
    return built([&](MPI_Datatype* out) { MPI_Type_contiguous(count, old, out); });
  }
  static Datatype vector(int count, int blocklength, int stride, MPI_Datatype old) {
    return built([&](MPI_Datatype* out) { MPI_Type_vector(count, blocklength, stride, old, out); });
  }
  static Datatype hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype old) {
    return built([&](MPI_Datatype* out) { MPI_Type_create_hvector(count, blocklength, stride, old, out); });
  }
  static Datatype hindexed(const std::vector<int>& blocklengths, const std::vector<MPI_Aint>& displacements,
                           MPI_Datatype old) {
    return built([&](MPI_Datatype* out) {
      MPI_Type_create_hindexed(static_cast<int>(displacements.size()), blocklengths.data(), displacements.data(), old,
                               out);
    });
  }
  static Datatype hindexed_block(int blocklength, const std::vector<MPI_Aint>& displacements, MPI_Datatype old) {
    return built([&](MPI_Datatype* out) {
      MPI_Type_create_hindexed_block(static_cast<int>(displacements.size()), blocklength, displacements.data(), old,
                                     out);
    });
  }
  static Datatype indexed_block(int blocklength, const std::vector<int>& displacements, MPI_Datatype old) {
    return built([&](MPI_Datatype* out) {
      MPI_Type_create_indexed_block(static_cast<int>(displacements.size()), blocklength, displacements.data(), old,
                                    out);
    });
  }
  /// Dimensions are in C order: the last one is contiguous.
  static Datatype subarray(const std::vector<int>& sizes, const std::vector<int>& subsizes,
                           const std::vector<int>& starts, MPI_Datatype old) {
    return built([&](MPI_Datatype* out) {
      MPI_Type_create_subarray(static_cast<int>(sizes.size()), sizes.data(), subsizes.data(), starts.data(),
                               MPI_ORDER_C, old, out);
    });
  }
  static Datatype structure(const std::vector<int>& blocklengths, const std::vector<MPI_Aint>& displacements,
                            const std::vector<MPI_Datatype>& types) {
    return built([&](MPI_Datatype* out) {
      MPI_Type_create_struct(static_cast<int>(types.size()), blocklengths.data(), displacements.data(), types.data(),
                             out);
    });
  }
  static Datatype resized(MPI_Aint extent, MPI_Datatype old) {
    return built([&](MPI_Datatype* out) { MPI_Type_create_resized(old, 0, extent, out); });
  }

 private:
  template <class Constructor>
  static Datatype built(Constructor constructor) {
    Datatype result;
    constructor(&result.handle_);
    return result;
  }

  MPI_Datatype handle_ = MPI_DATATYPE_NULL;
};

}  // namespace bench
