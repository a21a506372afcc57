// The ways to exchange ghost cells that are compared.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "halo/domain.hpp"
#include "halo/mover.hpp"

// Open MPI 5 has partitioned messages, and calls itself MPI 3.
#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
#define BENCH_HALO_PARTITIONED
#endif

namespace bench::halo {

/// Sums up the seconds that an exchange spends in each of its phases. The names are Comb's.
class Phases {
 public:
  void begin() { last_ = Clock::now(); }
  /// The time since begin() or the last end() belongs to a phase.
  void end(const char* phase) {
    const auto now = Clock::now();
    seconds_[phase] += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }
  const std::map<std::string, double>& seconds() const { return seconds_; }
  void clear() { seconds_.clear(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_;
  std::map<std::string, double> seconds_;
};

/// One way. exchange() fills the ghost cells of a domain; all ranks call it.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual void exchange(Phases& phases) = 0;
};

/// How the requests of nonblocking and persistent messages are handled.
struct Order {
  std::string post = "receives first";  ///< or "sends first"
  std::string wait = "all";             ///< all, any, some, test all, test any, each
  bool start_each = false;              ///< MPI_Start for each request in place of MPI_Startall
  bool joined = false;                  ///< one message for all variables of a region
};

struct Way {
  std::string name;
  std::function<std::unique_ptr<Exchange>(Domain&, Mover&, const Order&)> make;
};

/// Returns the ways that this MPI has.
std::vector<Way> ways();

/// Waits for `requests` in the order's manner; MPI_REQUEST_NULL is left in every place.
void wait_for(std::vector<MPI_Request>& requests, const std::string& manner);

// Each is in the source of its name.
std::unique_ptr<Exchange> make_isend(Domain& domain, const Order& order);
std::unique_ptr<Exchange> make_persistent(Domain& domain, const Order& order);
std::unique_ptr<Exchange> make_implicit(Domain& domain, const Order& order);
enum class Call { blocking, nonblocking, persistent };
std::unique_ptr<Exchange> make_neighbour(Domain& domain, Call call);
#ifdef BENCH_HALO_PARTITIONED
std::unique_ptr<Exchange> make_partitioned(Domain& domain);
#endif
enum class Packing { kernel_each, one_kernel, message_a_peer };
std::unique_ptr<Exchange> make_packed(Domain& domain, Mover& mover, Packing packing);
/// By a stream, or by a graph. Null if the cells are in host memory, or if there can be no graph.
std::unique_ptr<Exchange> make_triggered(Domain& domain, Mover& mover, bool graph);
std::unique_ptr<Exchange> make_direct(Domain& domain, Mover& mover);

}  // namespace bench::halo
