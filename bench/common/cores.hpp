// A core for each rank.
#pragma once

namespace bench {

/// Binds this process to the core of its number among those that it may use, counting hyperthreads of one core once, or to
/// the one that its launcher has left it. Returns that core, or -1 where there are too few and nothing was done.
int bind_to_core(int rank);

}  // namespace bench
