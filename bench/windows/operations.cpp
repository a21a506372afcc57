#include "windows/operations.hpp"

namespace bench::windows {
namespace {

void put(const Side& s) { MPI_Put(s.local.at(), 1, s.local.type(), s.target, 0, 1, s.exposed.type(), s.window); }

void get(const Side& s) { MPI_Get(s.local.at(), 1, s.local.type(), s.target, 0, 1, s.exposed.type(), s.window); }

void accumulate(const Side& s) {
  MPI_Accumulate(s.local.at(), 1, s.local.type(), s.target, 0, 1, s.exposed.type(), MPI_SUM, s.window);
}

template <void (*operation)(const Side&)>
void by_fences(const Side& s) {
  MPI_Win_fence(MPI_MODE_NOPRECEDE, s.window);
  if (s.is_origin()) operation(s);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, s.window);
}

template <void (*operation)(const Side&)>
void by_lock(const Side& s) {
  if (!s.is_origin()) return;
  MPI_Win_lock(MPI_LOCK_SHARED, s.target, 0, s.window);
  operation(s);
  MPI_Win_unlock(s.target, s.window);
}

template <void (*operation)(const Side&)>
void by_post(const Side& s) {
  MPI_Group all, origin, target;
  const int first = 0;
  MPI_Win_get_group(s.window, &all);
  MPI_Group_incl(all, 1, &first, &origin);
  MPI_Group_incl(all, 1, &s.target, &target);
  if (s.is_target()) MPI_Win_post(origin, 0, s.window);
  if (s.is_origin()) {
    MPI_Win_start(target, 0, s.window);
    operation(s);
    MPI_Win_complete(s.window);
  }
  if (s.is_target()) MPI_Win_wait(s.window);
  for (MPI_Group* group : {&all, &origin, &target}) MPI_Group_free(group);
}

void message(const Side& s) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (s.is_target()) MPI_Irecv(s.exposed.at(), 1, s.exposed.type(), 0, 0, MPI_COMM_WORLD, &request);
  if (s.is_origin()) MPI_Send(s.local.at(), 1, s.local.type(), s.target, 0, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

}  // namespace

std::vector<Operation> operations() {
  using enum Becomes;
  std::vector<Operation> all;
  for (const bool strided : {false, true}) {
    const std::string pieces = strided ? ", pieces of 128" : "";
    all.push_back({"message" + pieces, strided, message, itself, the_origins});
    all.push_back({"put, fence" + pieces, strided, by_fences<put>, itself, the_origins});
    all.push_back({"get, fence" + pieces, strided, by_fences<get>, the_targets, itself});
    all.push_back({"accumulate, fence" + pieces, strided, by_fences<accumulate>, itself, sum});
  }
  all.push_back({"put, lock", false, by_lock<put>, itself, the_origins});
  all.push_back({"get, lock", false, by_lock<get>, the_targets, itself});
  all.push_back({"put, post and start", false, by_post<put>, itself, the_origins});
  return all;
}

}  // namespace bench::windows
