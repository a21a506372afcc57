// The trials of this process: which data are of one kind, so that one trial is about all of them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "plan/data_kind.hpp"
#include "plan/exchange_trial.hpp"
#include "plan/host.hpp"
#include "plan/pack_trial.hpp"

namespace dunnage::pack {
class Program;
}
namespace dunnage::transport::peers {
class World;
}

namespace dunnage::mpi {

/// Thread-safe.
class PackTrials {
 public:
  /// A trial for each operation; null if there is only one candidate.
  struct Trials {
    /// Each call is measured.
    std::array<plan::PackTrial*, plan::operations> calls{};
    /// Exchanges are measured (plan/exchange_timer.hpp): for nonblocking messages.
    std::array<plan::ExchangeTrial*, plan::operations> exchanges{};
  };

  /// Returns the trials of data with that program. All are null if there are too many kinds of
  /// data. `messages`: whether messages are tried. The trials live as long as this object.
  /// In the memory of `world` the ranks of a message tell each other what they have chosen; null if
  /// there is none.
  Trials of(const pack::Program& program, bool mixed, bool messages, const plan::Model& model,
            const transport::peers::World* world);

  /// The memory ends in which ranks tell each other what they have chosen (process/other_side.hpp).
  void tell_no_more();

  struct Told {
    plan::DataKind data;
    plan::Operation operation;
    bool exchanges;  // the times are of a message in an exchange
    plan::Chooser::Found found;
  };
  /// What the trials have found that have measured something.
  std::vector<Told> told() const;

 private:
  struct Owned {
    std::array<std::unique_ptr<plan::PackTrial>, plan::operations> calls{};
    std::array<std::unique_ptr<plan::ExchangeTrial>, plan::operations> exchanges{};
  };
  static constexpr std::size_t most = 1024;

  mutable std::mutex mutex_;
  std::map<plan::DataKind, Owned> kinds_;
};

}  // namespace dunnage::mpi
