#include "mpi/partitioned/introduction.hpp"

#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "mpi/partitioned/background.hpp"
#include "mpi/process/failure.hpp"
#include "mpi/process/private_world.hpp"

namespace dunnage::mpi {
namespace {

/// Never destroyed: requests may outlive other statics.
struct Introductions {
  std::mutex mutex;  // also keeps probe and receive together
  std::map<MessageName, Introduction> come;
  std::set<MessageName> unwanted;  // that have not come
};
Introductions& introductions() {
  static auto* all = new Introductions;
  return *all;
}

/// The lock is held.
void take(Introductions& all, const Introduction& one) {
  if (all.unwanted.erase(one.name) == 0) all.come.emplace(one.name, one);
}

/// The lock is held.
void receive_what_is_there(Introductions& all) {
  const auto& own = process->own;
  int there = 0;
  MPI_Status status;
  while (own.Iprobe(MPI_ANY_SOURCE, introduction_tag, private_world(), &there, &status) == MPI_SUCCESS && there) {
    Introduction one;
    if (own.Recv(&one, sizeof one, MPI_PACKED, status.MPI_SOURCE, introduction_tag, private_world(),
                 MPI_STATUS_IGNORE) != MPI_SUCCESS)
      return;
    take(all, one);
  }
}

}  // namespace

int introduce(const Introduction& introduction, int dest) {
  // The MPI may not complete a message to this rank itself before somebody receives it.
  if (dest == process->rank) {
    auto& all = introductions();
    const std::lock_guard lock(all.mutex);
    return guarded([&] { take(all, introduction); });
  }
  memory::Parcel parcel{process->staging.take(sizeof introduction), sizeof introduction, sizeof introduction};
  if (!parcel) return MPI_ERR_NO_MEM;
  parcel.write(&introduction, 0, sizeof introduction);
  return send_in_background(std::move(parcel), dest, introduction_tag);
}

std::optional<Introduction> introduction_of(const MessageName& name) {
  auto& all = introductions();
  const std::lock_guard lock(all.mutex);
  receive_what_is_there(all);
  const auto found = all.come.find(name);
  if (found == all.come.end()) return std::nullopt;
  const auto introduction = found->second;
  all.come.erase(found);
  return introduction;
}

void forget_introduction(const MessageName& name) {
  auto& all = introductions();
  const std::lock_guard lock(all.mutex);
  if (all.come.erase(name) == 0) all.unwanted.insert(name);
}

}  // namespace dunnage::mpi
