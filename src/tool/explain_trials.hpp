// What a program's own calls found out about data of one kind, from its report.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "plan/data_kind.hpp"
#include "plan/host.hpp"
#include "plan/machine_model.hpp"

namespace dunnage::tool {

/// Times that differ from their prediction by this factor are pointed out.
inline constexpr double far_off = 2;

/// Returns " DIFFERS: 2.5 times as long as predicted", or its contrary. Returns an empty text if
/// the factor is less than far_off. `least` and `most` are the predictions, in nanoseconds: a trial
/// is about data of several sizes.
std::string difference(double nanoseconds, double least, double most);

/// A report that cannot be used. The text says why, and what to do.
struct NoReport : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Returns lines about the trials of such data in a report. `shape` and `kind` are of the data that
/// are explained. Throws NoReport.
std::vector<std::string> told_by_report(const std::string& path, const plan::Shape& shape, const plan::DataKind& kind,
                                        const plan::MachineModel& model);

}  // namespace dunnage::tool
