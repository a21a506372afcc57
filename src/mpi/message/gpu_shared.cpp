#include "mpi/message/gpu_shared.hpp"

#include "mpi/process/failure.hpp"

namespace dunnage::mpi {

using plan::GpuWay;

int pack_shared(const transport::shm::Outgoing& outgoing, const memory::Buffer& buffer, bool travels,
                base::FunctionRef<void()> let_go_on) try {
  const base::Range range("pack into shared memory", buffer.size());
  with_pipe(pack::gpu::Direction::pack, buffer, outgoing.gpu_ring(),
            [&](auto&& pipe) { outgoing.run(pipe, travels, let_go_on); });
  return MPI_SUCCESS;
} catch (const std::exception&) {
  outgoing.fail();
  return code_of_current_exception();
}

namespace {

bool read_by(std::uint32_t receiver, const device::Place& place) {
  const auto& driver = *device::driver();
  return process->world->gpu_proofs.read_by(receiver, [&] { return make_proof(driver, place); }) &&
         (place.memory != device::Memory::device || place.device == gpu_use().proved);
}

bool may_be_read(std::uint32_t receiver) {
  return others_read_memory() && gpu_announcements() && process->world->peers.reaches(receiver);
}

}  // namespace

bool others_read_memory() {
  const auto path = process->settings.gpu_path;
  return path != base::GpuPath::pass && path != base::GpuPath::staged && process->world;
}

bool reads_memory_at(std::uint32_t receiver, const device::Place& place) {
  return may_be_read(receiver) && read_by(receiver, place);
}

bool read_in_place_by(std::uint32_t receiver, const pack::gpu::Described& data, std::int64_t bytes) {
  if (static_cast<int>(receiver) == process->rank) return read_in_place_by_this(data);
  if (!may_be_read(receiver) || !in_one_piece(data)) return false;
  const auto reads = [&] { return read_by(receiver, data.place); };
  return plan::gpu_way(process->model.gpu, bytes, true, 0, reads) == GpuWay::direct;
}

bool better_packed_for(std::uint32_t receiver, const pack::gpu::ShortBlocks& blocks) {
  return blocks.much() && process->world->gpu_proofs.read_from_another_gpu(receiver);
}

bool better_packed_for(std::uint32_t receiver, const pack::gpu::Described& data) {
  return data.recipe->recipe.size() >= pack::gpu::ShortBlocks::least &&
         better_packed_for(receiver, pack::gpu::short_blocks_of(data));
}

bool read_in_place_by_this(const pack::gpu::Described& data) {
  return others_read_memory() && in_one_piece(data) && data.place.memory == device::Memory::device &&
         data.place.device == gpu_use().place.device;
}

GpuWay gpu_way_to(const memory::Buffer& buffer, std::uint32_t receiver) {
  const auto path = process->settings.gpu_path;
  auto* world = process->world.get();
  if (path == base::GpuPath::pass || !world || !world->peers.reaches(receiver)) return GpuWay::staged_alone;
  const auto size = buffer.size();
  const bool token = size < world->rendezvous.gpu_lengths_to(receiver).least_size();
  if (!gpu_announcements() || (token && !(transport::token_length(size) && world->tokens.taken_by(receiver))))
    return GpuWay::staged_small;
  const auto* data = buffer.device();
  if (!data || !in_one_piece(*data)) return GpuWay::staged_scattered;
  // A token cannot say that the data are in shared memory.
  const auto most_shared = token ? 0 : static_cast<std::int64_t>(process->settings.ticket_memory);
  return plan::gpu_way(process->model.gpu, size, path != base::GpuPath::staged, most_shared,
                       [&] { return read_by(receiver, data->place); });
}

}  // namespace dunnage::mpi
