#include "common/command_line.hpp"

#include <CLI/CLI.hpp>
#include <utility>

namespace bench {

struct CommandLine::State {
  explicit State(const std::string& description) : app(description) {}
  CLI::App app;
};

CommandLine::CommandLine(const std::string& description) : state_(std::make_unique<State>(description)) {}
CommandLine::~CommandLine() = default;

namespace {

template <class T>
void bound(CLI::Option* option, T least, T most) {
  if (least != std::numeric_limits<T>::lowest() || most != std::numeric_limits<T>::max())
    option->check(CLI::Range(least, most));
}

void restrict(CLI::Option* option, std::vector<std::string> choices) {
  if (!choices.empty()) option->check(CLI::IsMember(std::move(choices)));
}

}  // namespace

template <class T>
void CommandLine::number(const char* name, T& value, const char* help, T least, T most) {
  bound(state_->app.add_option(name, value, help), least, most);
}

template <class T>
void CommandLine::numbers(const char* name, std::vector<T>& values, const char* help, T least, T most) {
  bound(state_->app.add_option(name, values, help)->delimiter(','), least, most);
}

#define BENCH_NUMBER(T)                                                  \
  template void CommandLine::number(const char*, T&, const char*, T, T); \
  template void CommandLine::numbers(const char*, std::vector<T>&, const char*, T, T);
BENCH_NUMBER(int)
BENCH_NUMBER(long)
BENCH_NUMBER(unsigned long)
BENCH_NUMBER(double)
#undef BENCH_NUMBER

void CommandLine::text(const char* name, std::string& value, const char* help, std::vector<std::string> choices) {
  restrict(state_->app.add_option(name, value, help), std::move(choices));
}

void CommandLine::texts(const char* name, std::vector<std::string>& values, const char* help,
                        std::vector<std::string> choices) {
  restrict(state_->app.add_option(name, values, help)->delimiter(','), std::move(choices));
}

void CommandLine::texts_with_commas(const char* name, std::vector<std::string>& values, const char* help) {
  state_->app.add_option(name, values, help);
}

void CommandLine::flag(const char* name, bool& value, const char* help) { state_->app.add_flag(name, value, help); }

std::optional<int> CommandLine::read(int argc, char** argv, bool print) {
  try {
    state_->app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return print ? state_->app.exit(e) : 0;
  }
  return std::nullopt;
}

}  // namespace bench
