#include "mpi/process/lineage.hpp"

#include <cstring>
#include <map>
#include <mutex>
#include <string_view>
#include <tuple>

#include "base/siphash.hpp"
#include "mpi/process/attribute.hpp"
#include "mpi/process/failure.hpp"

namespace dunnage::mpi {
namespace {

Attribute<Origin> origins;

Lineage child_of(const Lineage& parent, std::uint64_t number) {
  const std::array<std::uint64_t, 3> words{parent[0], parent[1], number};
  std::array<char, sizeof words> bytes;
  std::memcpy(bytes.data(), words.data(), sizeof words);
  const std::string_view text(bytes.data(), bytes.size());
  return {base::siphash({0, 0}, text), base::siphash({0, 1}, text)};
}

}  // namespace

struct Origin::Counts {
  std::mutex mutex;
  std::map<std::tuple<bool, int, int>, std::uint32_t> messages;
};

Origin::Origin(const Lineage& lineage) : lineage_(lineage), counts_(std::make_unique<Counts>()) {}

Origin::~Origin() { gone_->store(true, std::memory_order_relaxed); }

Lineage Origin::next_child() { return child_of(lineage_, children_++); }

std::uint32_t Origin::next_message(bool sends, int peer, int tag) {
  const std::lock_guard lock(counts_->mutex);
  return counts_->messages[{sends, peer, tag}]++;
}

Origin* origin_of(MPI_Comm comm) {
  static Origin world({0, 1}), self({0, 2});
  if (comm == MPI_COMM_WORLD) return &world;
  if (comm == MPI_COMM_SELF) return &self;
  Origin* found = nullptr;
  return comm != MPI_COMM_NULL && origins.find(comm, found) ? found : nullptr;
}

void note_child(MPI_Comm parent, const MPI_Comm* child) {
  auto* origin = origin_of(parent);
  if (!origin) return;
  const auto lineage = origin->next_child();
  Origin* none = nullptr;
  if (child && *child != MPI_COMM_NULL && origins.find(*child, none))
    guarded([&] { origins.put(*child, std::make_unique<Origin>(lineage)); });
}

}  // namespace dunnage::mpi
