// Whether one rank reads the memory of another's GPU. Numbers stand in for devices.
#include "transport/peers/gpu_proofs.hpp"

#include <stdexcept>

#include "processes.hpp"

namespace dunnage::transport::peers {
namespace {

using Proof = GpuProofs::Proof;

/// `gpu`: where the number is.
Proof proof_of(std::uint64_t value, std::uint64_t gpu) { return {{}, value, gpu}; }

/// The child answers whenever it is told to. It reads what proves itself with an even number. It
/// works on GPU 1.
bool check_all(World& world, int from, int to) {
  bool ended = true;
  be_met(world, from);
  world.answer();
  say(to, 'x');
  hear<char>(from);
  world.answer();  // nobody checks yet
  say(to, 'x');
  hear<char>(from);
  world.gpu_proofs.check_with([&](const Proof& proof) {
    world.answer();  // in the same thread: answers nothing
    ended = ends_in_another_thread([&] {
      world.answer();
      world.gpu_proofs.check_with([](const Proof&) { return Mailbox::refused; });
      world.peers.reaches(0);
    });
    return proof.value % 2 != 0 ? Mailbox::refused : proof.gpu == 1 ? Mailbox::accepted : Mailbox::accepted_far;
  });
  world.answer();
  say(to, 'x');
  return ended && hear<char>(from) == '.';
}

void go_on(const Child& child) {
  say(child.to(), 'x');
  hear<char>(child.from());
}

struct Told {
  bool read, from_another_gpu;
  bool operator==(const Told&) const = default;
};
/// What this process is told about itself in the end, if it proves itself with that number.
Told read_with(std::uint64_t value, std::uint64_t gpu) {
  const auto job = new_job();
  Child child(job, check_all);
  const auto world = World::join({job, 0, 2}, 1 << 20, 1 << 20);
  meet(*world, child);
  hear<char>(child.from());
  const auto not_made = [] { return ADD_FAILURE() << "made twice", std::optional<Proof>(); };
  bool ended = false;
  EXPECT_FALSE(world->gpu_proofs.read_by(1, [&] {
    ended = ends_in_another_thread([&] {
      EXPECT_FALSE(world->gpu_proofs.read_by(1, not_made));
      EXPECT_TRUE(world->peers.reaches(1));
      world->rendezvous.offer(1, 20000, 0, true)->cancel();
      world->answer();
    });
    return std::optional(proof_of(value, gpu));
  }));
  EXPECT_TRUE(ended) << "a lock is held while the proof is made";
  go_on(child);
  EXPECT_FALSE(world->gpu_proofs.read_by(1, not_made));
  go_on(child);
  const Told told{world->gpu_proofs.read_by(1, not_made), world->gpu_proofs.read_from_another_gpu(1)};
  say(child.to(), '.');
  return told;
}

TEST(GpuProofs, TheReaderSays) {
  EXPECT_EQ(read_with(4, 1), (Told{true, false}));
  EXPECT_EQ(read_with(4, 2), (Told{true, true}));
  EXPECT_EQ(read_with(5, 2), (Told{false, false}));
}

TEST(GpuProofs, WithoutAProofNobodyIsAsked) {
  const auto job = new_job();
  Child child(job, [](World& w, int from, int) { return be_met(w, from), hear<char>(from) == '.'; });
  const auto world = World::join({job, 0, 2}, 1 << 20, 1 << 20);
  meet(*world, child);
  int made = 0;
  const auto fails = [&]() -> std::optional<Proof> { throw std::runtime_error(std::to_string(++made)); };
  EXPECT_THROW(world->gpu_proofs.read_by(1, fails), std::runtime_error);
  EXPECT_FALSE(world->gpu_proofs.read_by(1, fails));
  EXPECT_EQ(made, 1);
  say(child.to(), '.');
}

}  // namespace
}  // namespace dunnage::transport::peers
