#include "mpi/copies/staged_call.hpp"

#include <algorithm>
#include <string_view>

#include "device/surely_host.hpp"
#include "mpi/copies/held_partitions.hpp"
#include "mpi/copies/mirror.hpp"
#include "mpi/copies/split.hpp"
#include "mpi/copies/until_synchronized.hpp"
#include "mpi/message/attach.hpp"
#include "mpi/process/communicators.hpp"
#include "mpi/process/failure.hpp"

namespace dunnage::mpi {

using device::surely_host;
using plan::Reason;

namespace {

/// All buffers of one call.
class Mirrors : public Copies {
 public:
  void add(std::unique_ptr<Mirror> mirror) { all_.push_back(std::move(mirror)); }
  int gather() override { return each(&Mirror::gather); }
  int deliver() override { return each(&Mirror::deliver); }

 private:
  int each(void (Mirror::*what)() const) {
    return guarded([&] {
      for (const auto& mirror : all_) ((*mirror).*what)();
    });
  }
  std::vector<std::unique_ptr<Mirror>> all_;
};

const device::Driver* driver_for(const void* buffer) {
  if (buffer == MPI_IN_PLACE || surely_host(buffer) || process->settings.force == base::Force::never) return nullptr;
  return device::driver();
}

/// Whether MPIs that reach GPUs do so in that call: Open MPI, for one, only in messages and in
/// blocking collectives (its list in docs/tuning-apps/networking/cuda.rst).
bool reaches_gpus(Hook hook) {
  constexpr std::string_view calls[] = {
      "Allgather",  "Allgatherv", "Allreduce", "Alltoall",       "Alltoallv",
      "Alltoallw",  "Bcast",      "Exscan",    "Gather",         "Gatherv",
      "Precv_init", "Psend_init", "Reduce",    "Reduce_scatter", "Reduce_scatter_block",
      "Scan",       "Scatter",    "Scatterv"};
  std::string_view name = hook_names[static_cast<std::size_t>(hook)];
  name.remove_prefix(std::string_view("MPI_").size());
  if (name.ends_with("_c")) name.remove_suffix(2);
  return std::find(std::begin(calls), std::end(calls), name) != std::end(calls);
}

bool is_contiguous(const Segment& segment) {
  const auto* known = known_type(segment.type);
  return known && known->reason() == Reason::contiguous;
}

std::int64_t number_of(const Over& over, MPI_Comm comm) {
  switch (over.what) {
    case Over::What::number: return over.argument;
    case Over::What::peers: return peers(comm);
    case Over::What::at_root: return peers_at_root(over.argument, comm);
    case Over::What::if_root: return peers_at_root(over.argument, comm) > 0;
    case Over::What::members: return members(comm);
    case Over::What::sources: return neighbours(comm).in;
    case Over::What::targets: return neighbours(comm).out;
  }
  return 0;
}

std::int64_t extent_of(MPI_Datatype type) {
  MPI_Count lb = 0, extent = 0;
  if (type == MPI_DATATYPE_NULL) return 0;
  process->own.Type_get_extent_x(type, &lb, &extent);
  return extent;
}

/// `in_place`: the call's other buffer is MPI_IN_PLACE.
std::vector<Segment> segments_of(const Shape& shape, MPI_Comm comm, bool in_place) {
  using Kind = Shape::Kind;
  const bool of_comm = shape.over.what != Over::What::number || (shape.all_in_place && in_place);
  if (of_comm && comm == MPI_COMM_NULL) return {};  // for the MPI to report
  const auto n = shape.all_in_place && in_place ? members(comm) : number_of(shape.over, comm);
  if (n <= 0) return {};
  if (shape.kind == Kind::equal) return {{0, shape.count > 0 ? type::times(shape.count, n) : 0, shape.type}};
  if (shape.kind == Kind::sum || (shape.kind == Kind::own && in_place)) {
    std::int64_t all = 0;
    for (std::int64_t i = 0; i < n; ++i) all = type::plus(all, shape.counts[i]);
    return {{0, all, shape.type}};
  }
  if (shape.kind == Kind::own) {
    int rank = 0;
    process->own.Comm_rank(comm, &rank);
    return {{0, shape.counts[rank], shape.type}};
  }
  std::vector<Segment> all(static_cast<std::size_t>(n));
  const auto extent = shape.kind == Kind::listed ? extent_of(shape.type) : 1;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto type = shape.kind == Kind::listed ? shape.type : shape.types[i];
    if (shape.counts[i] > 0)
      all[static_cast<std::size_t>(i)] = {type::times(shape.displs[i], extent), shape.counts[i], type};
  }
  return all;
}

}  // namespace

void* StagedCall::stage(Role role, const void* buffer, const Shape& shape) noexcept {
  auto* const same = const_cast<void*>(buffer);
  const auto* driver = driver_for(buffer);
  if (!driver || failure_ != MPI_SUCCESS) return same;
  try {
    const auto segments = segments_of(shape, comm_, in_place_);
    if (process->passes_gpus() && reaches_gpus(hook_) && std::all_of(segments.begin(), segments.end(), is_contiguous))
      return same;
    auto mirror = Mirror::of(*driver, role, buffer, segments);
    if (!mirror) return same;
    if (!copies_) copies_ = std::make_shared<Mirrors>();
    auto* const base = mirror->base();
    static_cast<Mirrors&>(*copies_).add(std::move(mirror));
    return base;
  } catch (const type::SpecError&) {
    return same;  // more bytes than there are addresses: for the MPI to report
  } catch (const std::exception&) {
    failure_ = code_of_current_exception();
    return same;
  }
}

void* StagedCall::broadcast(void* buffer, const Shape& shape, int root) {
  if (root == MPI_PROC_NULL || comm_ == MPI_COMM_NULL || !driver_for(buffer)) return buffer;
  return stage(peers_at_root(root, comm_) > 0 ? Role::send : Role::receive, buffer, shape);
}

const void* StagedCall::send(const void* buffer, const Shape& shape) {
  in_place_ = buffer == MPI_IN_PLACE;
  return stage(Role::send, buffer, shape);
}

void* StagedCall::receive(void* buffer, const Shape& shape) {
  return stage(in_place_ ? Role::update : Role::receive, buffer, shape);
}

void* StagedCall::update(void* buffer, const Shape& shape) { return stage(Role::update, buffer, shape); }

bool StagedCall::ready(bool persistent) {
  if (copies_) counted_.because(Reason::through_host);
  if (failure_ == MPI_SUCCESS && copies_ && !persistent) failure_ = copies_->gather();
  return failure_ == MPI_SUCCESS;
}

int StagedCall::error() {
  counted_.because(Reason::device_error);
  return raise(errors_, failure_);
}

int StagedCall::ended(int rc) {
  if (rc != MPI_SUCCESS || !copies_) return rc;
  const int failed = copies_->deliver();
  return failed == MPI_SUCCESS ? rc : raise(errors_, failed);
}

int StagedCall::begun(int rc, MPI_Request* request, bool persistent, std::unique_ptr<Request> watched) {
  if (rc != MPI_SUCCESS) return rc;
  if (!copies_) {
    forget_request(rc, request);
    return rc;
  }
  return follow(std::move(copies_), errors_, request, persistent, std::move(watched));
}

int StagedCall::partitions_begun(int rc, MPI_Request* request, int partitions, bool sends) {
  if (rc != MPI_SUCCESS || !copies_) return begun(rc, request, true);
  auto held = std::make_unique<HeldPartitions>(partitions, sends, errors_, std::move(copies_));
  held->persistent = true;
  attach(*request, std::move(held));
  return rc;
}

int StagedCall::until_synchronized(int rc, MPI_Win win, int target) {
  if (rc == MPI_SUCCESS && copies_) keep_until_synchronized(win, target, std::move(copies_));
  return rc;
}

int StagedCall::until_end(int rc, MPI_File file) {
  if (rc == MPI_SUCCESS && copies_) keep_until_end(file, std::move(copies_));
  return rc;
}

}  // namespace dunnage::mpi
