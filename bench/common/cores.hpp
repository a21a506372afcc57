// A core for each rank.
#pragma once

namespace bench {

/// Binds this process to the core of its number among those that it may use, counting hyperthreads of one core once, or to
/// the one that its launcher has left it. Returns that core, or -1 where there are too few and nothing was done.
int bind_to_core(int rank);

/// Gives this process one of two halves of all the cores of its host, whatever its launcher has left it: for ranks that need
/// room for threads of their driver. Threads that are there already stay where they are. Returns the number of these cores, or 0
/// where there are too few and nothing was done.
int take_half_of_cores(int rank);

}  // namespace bench
