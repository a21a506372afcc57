// Why a call was accelerated or was not. The report has one row for each reason.
#pragma once

#include <array>
#include <string_view>

namespace dunnage::plan {

/// Every reason and its text in the report.
// clang-format off
#define DUNNAGE_REASONS(row) \
  row(accelerated, "accelerated") \
  row(contiguous, "contiguous data") \
  row(not_committed, "datatype not seen at MPI_Type_commit") \
  row(empty, "no data") \
  row(null_process, "MPI_PROC_NULL") \
  row(bad_argument, "argument left to the MPI to judge") \
  row(library_quirk, "this MPI packs the datatype in its own order") \
  row(too_large, "larger than DUNNAGE_STAGING_LIMIT or an int count") \
  row(no_gain, "no gain predicted") \
  row(tried, "the MPI's turn in a trial, or it won the trial") \
  row(left_by_other, "the other rank of the message has chosen the MPI") \
  row(untrusted, "this MPI cannot be trusted with packed bytes here") \
  row(never, "DUNNAGE_FORCE=never") \
  row(no_memory, "no staging memory") \
  row(too_much_waits, "sends that wait fill DUNNAGE_STAGING_MEMORY") \
  row(analysis_failed, "datatype could not be analysed") \
  row(passed_on, "this call is left to the MPI") \
  row(through_host, "device memory, packed by the MPI in host memory") \
  row(passed, "device memory, contiguous: this MPI reaches it") \
  row(device_error, "an error of the device, reported") \
  row(no_kernels, "device memory, and no kernels were built")
// clang-format on

#define DUNNAGE_REASON_NAME(name, text) name,
enum class Reason : unsigned char { DUNNAGE_REASONS(DUNNAGE_REASON_NAME) };
#undef DUNNAGE_REASON_NAME

/// The texts, indexed by Reason.
#define DUNNAGE_REASON_TEXT(name, text) std::string_view(text),
inline constexpr std::array reason_text = {DUNNAGE_REASONS(DUNNAGE_REASON_TEXT)};
#undef DUNNAGE_REASON_TEXT
#undef DUNNAGE_REASONS

/// The number of reasons.
inline constexpr auto reasons = reason_text.size();

constexpr std::string_view text(Reason reason) { return reason_text[static_cast<std::size_t>(reason)]; }

}  // namespace dunnage::plan
