// The command line. Each subcommand is a function of its own file.
#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <limits>

#include "base/settings.hpp"
#include "tool/describe.hpp"
#include "tool/explain.hpp"
#include "tool/explain_bcast.hpp"
#include "tool/explain_types.hpp"
#include "tool/info.hpp"
#include "tool/package.hpp"
#include "tool/process.hpp"
#include "tool/run.hpp"

using namespace dunnage;
using Words = std::vector<std::string>;

namespace {

// Returns whether a setting belongs to one run, and so is an option of `run`.
bool of_one_run(const base::Setting& setting) {
  return setting.name != "DUNNAGE" && setting.name != "DUNNAGE_HOME" && setting.name != "DUNNAGE_ROSTER";
}

// Returns whether the word after this one is the value of an option of `run`. It is not if the
// option may stand without a value, as --report.
bool takes_next_word(const std::string& word) {
  return std::ranges::any_of(base::setting_table(), [&](const base::Setting& setting) {
    return of_one_run(setting) && setting.bare.empty() && word == tool::option_name(setting.name);
  });
}

// Some commands end in words for another program, which CLI11 must not see. For `run` these words
// begin at the first word that is neither an option nor the value of one, or after `--`. For the
// other commands they are all words.
Words cut_tail(Words& words) {
  constexpr std::string_view tailed[] = {"run", "bench", "report", "tune"};
  if (words.empty() || !std::ranges::count(tailed, words[0])) return {};
  auto start = words.begin() + 1;
  if (words[0] == "run") {
    while (start != words.end() && *start != "--" && start->starts_with("-")) {
      const bool value_follows = takes_next_word(*start) && start + 1 != words.end() && start[1] != "--";
      start += value_follows ? 2 : 1;
    }
  }
  const bool marked = words[0] == "run" && start != words.end() && *start == "--";
  Words tail(start + marked, words.end());
  words.erase(start, words.end());
  return tail;
}

void add_settings(CLI::App& command, tool::RunOptions& run) {
  for (const base::Setting& setting : base::setting_table()) {
    if (!of_one_run(setting)) continue;
    const std::string name = tool::option_name(setting.name);
    const std::string_view fallback = setting.fallback.empty() ? "unset" : setting.fallback;
    const std::string help = fmt::format("{}: {} (default {})", setting.name, setting.allowed, fallback);
    std::string& value = run.settings[std::string(setting.name)];
    // A flag of CLI11 takes its value only after '=', so the word after a bare --report is not
    // taken for its value.
    if (setting.bare.empty()) {
      command.add_option(name, value, help);
    } else {
      command.add_flag(fmt::format("{}{{{}}}", name, setting.bare), value, help);
    }
  }
}

int parse_and_run(Words words) {
  CLI::App app("Makes MPI fast on non-contiguous data, without a change to the program.", "dunnage");
  app.set_version_flag("--version", std::string("dunnage ") + DUNNAGE_VERSION);
  app.require_subcommand(1);
  const auto print_commands = [&app] {
    fmt::print("{}\n", tool::describe(app));
    throw CLI::Success();
  };
  app.add_flag_callback("--commands", print_commands, "Print commands and options as JSON")->group("");  // hidden
  int status = 0;

  tool::RunOptions run_options;
  run_options.command = cut_tail(words);
  CLI::App& run = *app.add_subcommand("run", "Run a command with Dunnage preloaded: dunnage run -- mpirun -np 4 ./app");
  run.footer(
      "The command starts at the first word that is not an option, or after --. A value of --report follows\n"
      "a '=': --report=FILE.json. The launcher passes the environment to the ranks of its own host. MPICH's launcher "
      "also\n"
      "passes it to other hosts. Open MPI's must be told: mpirun -x LD_PRELOAD -x DUNNAGE_ROSTER ...\n"
      "Dunnage must be installed in the same place on every host. Other settings: docs/reference/settings.md.");
  add_settings(run, run_options);
  run.callback([&] { status = tool::run(run_options); });

  const char* const print_json = "print JSON in place of text";
  bool json = false;
  CLI::App& info = *app.add_subcommand("info", "Show Dunnage's parts, MPIs, processor and settings");
  info.add_flag("--json", json, print_json);
  info.callback([&] { status = tool::info(json); });

  tool::ExplainOptions explain_options;
  tool::ExplainBcastOptions bcast_options;
  CLI::App& explain = *app.add_subcommand("explain", "Show how Dunnage handles a datatype or a broadcast, and why");
  explain.add_option("type", explain_options.type,
                     "for example 'vector(1024,1,1024,double)', 'MPI_Type_vector(1024,1,1024,MPI_DOUBLE)', or bcast");
  std::string types;
  explain
      .add_option("--types", types,
                  "explain the datatypes that a program has committed (dunnage run --explain=FILE.json)")
      ->type_name("FILE");
  explain.add_option("--ranks", bcast_options.ranks, "bcast: number of ranks")->check(CLI::Range(1, 1 << 20));
  explain.add_option("--hosts", bcast_options.hosts, "bcast: number of hosts")->check(CLI::Range(1, 1 << 20));
  const auto read_bytes = [&](const std::string& text) {
    if (!base::parse_size(text, bcast_options.bytes))
      throw CLI::ValidationError("--bytes", text + " is no size; write a number of bytes, for example 64KiB or 1M");
  };
  explain.add_option_function<std::string>("--bytes", read_bytes, "bcast: length of the message, for example 1MiB");
  explain.add_option("--count", explain_options.count, "number of elements in one message")
      ->check(CLI::Range(0LL, std::numeric_limits<long long>::max()));
  explain.add_option("--memory", explain_options.memory, "where the buffers are")
      ->check(CLI::IsMember({"host", "device"}));
  explain
      .add_option("--report", explain_options.report,
                  "also show what a program with this report (dunnage run --report=FILE.json) has tried with such "
                  "data")
      ->type_name("FILE");
  explain.add_flag("--json", json, print_json);
  explain.callback([&] {
    explain_options.json = bcast_options.json = json;
    if (explain_options.type.empty() == types.empty())
      throw CLI::ValidationError("type", "give a datatype, or --types=FILE");
    const bool bcast = explain_options.type == "bcast";
    if (!explain_options.report.empty() && (bcast || explain_options.memory == "device"))
      throw CLI::ValidationError("--report", "a report has trials of datatypes in host memory only");
    status = !types.empty() ? tool::explain_types(types, explain_options)
             : bcast        ? tool::explain_bcast(bcast_options)
                            : tool::explain(explain_options);
  });

  app.add_subcommand("bench", "Run benchmarks; `dunnage bench --help` lists them")->callback([&] {
    status = tool::run_module("dunnage.bench", run_options.command);
  });
  app.add_subcommand("report", "Make a page and a short text from reports; `dunnage report --help`")->callback([&] {
    status = tool::run_module("dunnage.report", run_options.command);
  });
  const char* tune = "Measure what packing and messages cost here, for better choices; `dunnage tune --help`";
  app.add_subcommand("tune", tune)->callback([&] { status = tool::run_module("dunnage.tune", run_options.command); });

  if (!words.empty() && !words[0].starts_with("-")) {
    Words names;
    for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
    if (!std::ranges::count(names, words[0])) {
      return tool::fail(fmt::format("there is no subcommand {}; there are {}", words[0], fmt::join(names, ", ")));
    }
  }
  try {
    std::ranges::reverse(words);  // CLI11 takes the last word first
    app.parse(words);
  } catch (const CLI::ParseError& outcome) {  // --help and --version arrive here too
    return app.exit(outcome) == 0 ? 0 : tool::usage_error;
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return parse_and_run(Words(argv + 1, argv + argc));
  } catch (const std::exception& error) {
    return tool::fail(error.what(), 1);
  }
}
