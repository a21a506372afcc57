#include "cuda_aware/options.hpp"

#include <algorithm>
#include <map>

namespace bench {

bool Options::wants(const std::string& what) const { return std::find(memory.begin(), memory.end(), what) != memory.end(); }

void add_options(CLI::App& app, Options& o) {
  const auto size = CLI::Range(std::size_t{1}, std::size_t{1} << 30);  // counts are ints
  app.add_option("--memory", o.memory, "what the messages lie in; references: the copy engine and NCCL instead of messages")
      ->delimiter(',')->check(CLI::IsMember({"device", "host", "staged", "references"}));
  app.add_option("--bytes", o.bytes, "contiguous payloads")->delimiter(',')->check(size);
  app.add_option("--fresh-bytes", o.fresh_bytes, "contiguous payloads in memory that is new each time")->delimiter(',')->check(size);
  app.add_option("--strided-bytes", o.strided_bytes, "payloads of vectors, powers of two")->delimiter(',')->check(size);
  app.add_option("--blocks", o.blocks, "bytes of a block of these, powers of two")
      ->delimiter(',')->check(CLI::Range(std::size_t{4}, std::size_t{1} << 20));
  app.add_option("--window", o.window, "messages under way at once")->check(CLI::Range(1, 1000));
  app.add_option("--most", o.most, "bytes of one side's window at most")->check(CLI::Range(std::size_t{1}, std::size_t{1} << 40));
  app.add_option("--too-long", o.too_long, "leave out a series that would take more seconds");
  app.add_option("--seconds", o.effort.seconds, "of one series, about");
  app.add_option("--least-samples", o.effort.least)->check(CLI::PositiveNumber);
  app.add_option("--most-samples", o.effort.most)->check(CLI::PositiveNumber);
  app.add_option("--nccl", o.nccl, "its library");
  const std::map<std::string, Damage> places{{"none", Damage::none}, {"first", Damage::first}, {"last", Damage::last}, {"gap", Damage::gap}};
  app.add_option("--damage", o.damage, "change a byte of what is received, to see that the check finds it")
      ->transform(CLI::CheckedTransformer(places));
}

}  // namespace bench
