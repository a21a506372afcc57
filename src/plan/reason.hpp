// Why a call was accelerated or was not: one row of the report each.
#pragma once

#include <array>
#include <string_view>

namespace dunnage::plan {

enum class Reason : unsigned char {
  accelerated,
  contiguous,
  not_committed,
  empty,
  null_process,
  bad_argument,
  library_quirk,
  too_large,
  no_gain,
  untrusted,
  never,
  no_memory,
  analysis_failed,
  passed_on,
  through_host,
  passed,
  device_error,
};

inline constexpr std::array reason_text = {
    std::string_view("accelerated"),
    std::string_view("contiguous data"),
    std::string_view("datatype not seen at MPI_Type_commit"),
    std::string_view("no data"),
    std::string_view("MPI_PROC_NULL"),
    std::string_view("argument left to the MPI to judge"),
    std::string_view("this MPI packs the datatype in its own order"),
    std::string_view("larger than DUNNAGE_STAGING_LIMIT or an int count"),
    std::string_view("no gain predicted"),
    std::string_view("this MPI cannot be trusted with packed bytes here"),
    std::string_view("DUNNAGE_FORCE=never"),
    std::string_view("no staging memory"),
    std::string_view("datatype could not be analysed"),
    std::string_view("this call is left to the MPI"),
    std::string_view("device memory, packed by the MPI in host memory"),
    std::string_view("device memory, contiguous: this MPI reaches it"),
    std::string_view("an error of the device, reported"),
};
inline constexpr auto reasons = reason_text.size();
static_assert(reasons == static_cast<std::size_t>(Reason::device_error) + 1);

constexpr std::string_view text(Reason reason) { return reason_text[static_cast<std::size_t>(reason)]; }

}  // namespace dunnage::plan
