#include "tool/explain_types.hpp"

#include <cstdint>
#include <fstream>
#include <utility>

#include <fmt/format.h>

#include "base/format.hpp"
#include "plan/library.hpp"
#include "tool/listing.hpp"
#include "tool/process.hpp"

namespace dunnage::tool {
namespace {

constexpr const char* how_to_write = "write one with `dunnage run --explain=FILE.json -- COMMAND`";

/// Explains one of the types. Returns its document.
Json explain_one(const Json& told, const std::string& library, ExplainOptions options) {
  Listing list(options.json);
  options.type = told.at("type").get<std::string>();
  if (told.contains("the MPI's pack seconds"))
    options.times = TimesInProgram{library, told.at("the MPI's pack seconds"), told.at("Dunnage's pack seconds"),
                                   told.at("packed alike")};
  if (told.at("whole").get<bool>())
    explain(list, options);
  else
    list.text("type             {}, too long to be explained\n", base::one_line(options.type, 200));
  list.document["commits"] = told.at("commits");
  return std::move(list.document);
}

}  // namespace

int explain_types(const std::string& path, const ExplainOptions& options) try {
  std::ifstream file(path);
  if (!file) return fail(fmt::format("explain: {} cannot be read; {}", path, how_to_write));
  const auto told = Json::parse(file);
  const auto& types = told.at("types");
  const auto library = told.at("library").get<std::string>();
  Listing list(options.json);
  list.text("{}: {} datatypes that the first rank has committed, with {}\n", path, types.size(),
            plan::describe(plan::identify(library)));
  list.document = {{"library", library}, {"types", Json::array()}};
  for (std::size_t i = 0; i < types.size(); ++i) {
    list.text("\n{} of {}, committed {} times\n", i + 1, types.size(), types[i].at("commits").get<std::uint64_t>());
    list.document["types"].push_back(explain_one(types[i], library, options));
  }
  if (const auto more = told.value("left out", std::uint64_t{0}); more > 0)
    list.text("\nand {} commits of other types\n", more);
  list.finish();
  return 0;
} catch (const nlohmann::json::parse_error&) {
  return fail(fmt::format("explain: {} is not JSON; {}", path, how_to_write));
} catch (const nlohmann::json::exception&) {
  return fail(fmt::format("explain: {} is JSON, but has no datatypes of a program; {}", path, how_to_write));
}

}  // namespace dunnage::tool
