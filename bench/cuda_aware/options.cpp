#include "cuda_aware/options.hpp"

#include <algorithm>
#include <map>

namespace bench {

bool Options::wants(const std::string& what) const {
  return std::find(memory.begin(), memory.end(), what) != memory.end();
}

void add_options(CLI::App& app, Options& o) {
  const auto size = CLI::Range(std::size_t{1}, std::size_t{1} << 30);  // MPI's counts are ints
  app.add_option("--memory", o.memory, "the memory of the messages; references: the copy engine and NCCL, no messages")
      ->delimiter(',')
      ->check(CLI::IsMember({"device", "host", "staged", "references"}));
  app.add_option("--bytes", o.bytes, "contiguous payloads")->delimiter(',')->check(size);
  app.add_option("--fresh-bytes", o.fresh_bytes, "contiguous payloads in memory that is new each time")
      ->delimiter(',')
      ->check(size);
  app.add_option("--strided-bytes", o.strided_bytes, "payloads of vectors, powers of two")->delimiter(',')->check(size);
  app.add_option("--blocks", o.blocks, "bytes of a block of the vectors, powers of two")
      ->delimiter(',')
      ->check(CLI::Range(std::size_t{4}, std::size_t{1} << 20));
  app.add_option("--window", o.window, "messages in progress at once")->check(CLI::Range(1, 1000));
  app.add_option("--most", o.most, "the most bytes of one side's window")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 40));
  app.add_option("--too-long", o.too_long, "leave out a series that would take more seconds");
  app.add_option("--seconds", o.effort.seconds, "about how long one series may take");
  app.add_option("--least-samples", o.effort.least)->check(CLI::PositiveNumber);
  app.add_option("--most-samples", o.effort.most)->check(CLI::PositiveNumber);
  app.add_option("--nccl", o.nccl, "the path of NCCL's library");
  const std::map<std::string, Damage> places{
      {"none", Damage::none}, {"first", Damage::first}, {"last", Damage::last}, {"gap", Damage::gap}};
  app.add_option("--damage", o.damage, "change a received byte, to see that the check finds it")
      ->transform(CLI::CheckedTransformer(places));
}

}  // namespace bench
