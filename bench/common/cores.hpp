// A core for each rank.
#pragma once

namespace bench {

/// Binds this process to a core and returns the core's number. If the launcher has left several
/// cores, the process takes the one with its number among them. Hyperthreads of one core count
/// once. If there are too few cores, the function does nothing and returns -1.
int bind_to_core(int rank);

/// Gives this process one of two halves of all cores of its host, whatever its launcher has left
/// it. This is for ranks that need room for threads of their driver. Threads that exist already
/// stay where they are. Returns the number of cores of the half. If there are too few cores, the
/// function does nothing and returns 0.
int take_half_of_cores(int rank);

}  // namespace bench
