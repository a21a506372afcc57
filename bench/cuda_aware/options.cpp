#include "cuda_aware/options.hpp"

#include <algorithm>

namespace bench {

bool Options::wants(const std::string& what) const {
  return std::find(memory.begin(), memory.end(), what) != memory.end();
}

Damage Options::damage() const {
  return damaged == "first"  ? Damage::first
         : damaged == "last" ? Damage::last
         : damaged == "gap"  ? Damage::gap
                             : Damage::none;
}

void add_options(CommandLine& line, Options& o) {
  const std::size_t one = 1, most = std::size_t{1} << 30;  // MPI's counts are ints
  line.texts("--memory", o.memory, "the memory of the messages; references: the copy engine and NCCL, no messages",
             {"device", "host", "staged", "references"});
  line.numbers("--bytes", o.bytes, "contiguous payloads", one, most);
  line.numbers("--fresh-bytes", o.fresh_bytes, "contiguous payloads in memory that is new each time", one, most);
  line.numbers("--strided-bytes", o.strided_bytes, "payloads of vectors, powers of two", one, most);
  line.numbers("--blocks", o.blocks, "bytes of a block of the vectors, powers of two", std::size_t{4}, one << 20);
  line.number("--window", o.window, "messages in progress at once", 1, 1000);
  line.number("--most", o.most, "the most bytes of one side's window", one, one << 40);
  line.number("--too-long", o.too_long, "leave out a series that would take more seconds");
  line.number("--seconds", o.effort.seconds, "about how long one series may take");
  line.number("--least-samples", o.effort.least, "the fewest samples of a series", decltype(o.effort.least){1});
  line.number("--most-samples", o.effort.most, "the most samples of a series", decltype(o.effort.most){1});
  line.text("--nccl", o.nccl, "the path of NCCL's library");
  line.text("--damage", o.damaged, "change a received byte, to see that the check finds it",
            {"none", "first", "last", "gap"});
}

}  // namespace bench
