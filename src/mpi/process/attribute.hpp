// What Dunnage keeps with a communicator.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "mpi/process/process.hpp"

namespace dunnage::mpi {

/// Keeps a function that MPI_Finalize shall call before the MPI ends. Thread-safe.
void end_at_finalize(std::function<void()> end);
/// In MPI_Finalize: calls these functions.
void end_attributes();

/// A T for each communicator, by an attribute: the MPI deletes it with the communicator. Safe from
/// several threads for different communicators; who makes one for the same communicator from
/// several threads has to keep them apart.
template <class T>
class Attribute {
 public:
  /// False where the MPI has no attributes to give, or no longer. `found` is null where none was
  /// put.
  bool find(MPI_Comm comm, T*& found) {
    const auto& own = process->own;
    std::call_once(once_, [&] {
      if (own.Comm_create_keyval(MPI_COMM_NULL_COPY_FN, drop, &keyval_, nullptr) != MPI_SUCCESS)
        keyval_ = MPI_KEYVAL_INVALID;
      end_at_finalize([this] { end(); });
    });
    void* value = nullptr;
    int there = 0;
    if (keyval_ == MPI_KEYVAL_INVALID || own.Comm_get_attr(comm, keyval_, &value, &there) != MPI_SUCCESS) return false;
    found = there ? static_cast<T*>(value) : nullptr;
    return true;
  }

  /// Null where the MPI does not take it.
  T* put(MPI_Comm comm, std::unique_ptr<T> value) {
    return process->own.Comm_set_attr(comm, keyval_, value.get()) == MPI_SUCCESS ? value.release() : nullptr;
  }

  /// Those of communicators that are there still are deleted with them.
  void end() {
    if (keyval_ != MPI_KEYVAL_INVALID) process->own.Comm_free_keyval(&keyval_);
  }

 private:
  static int drop(MPI_Comm, int, void* value, void*) {
    delete static_cast<T*>(value);
    return MPI_SUCCESS;
  }

  int keyval_ = MPI_KEYVAL_INVALID;
  std::once_flag once_;
};

}  // namespace dunnage::mpi
