// The options of the benchmark programs. The header of the library that reads them stays in one
// source, because compiling it takes longer than compiling most of the programs.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bench {

/// Reads a command line into variables. What a variable holds before is its default. Every list
/// takes several values, with commas or spaces between them.
class CommandLine {
 public:
  explicit CommandLine(const std::string& description);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// T: int, long, unsigned long or double. A value outside [least, most] is an error.
  template <class T>
  void number(const char* name, T& value, const char* help, T least = std::numeric_limits<T>::lowest(),
              T most = std::numeric_limits<T>::max());
  template <class T>
  void numbers(const char* name, std::vector<T>& values, const char* help, T least = std::numeric_limits<T>::lowest(),
               T most = std::numeric_limits<T>::max());
  /// With `choices`, any other text is an error.
  void text(const char* name, std::string& value, const char* help, std::vector<std::string> choices = {});
  void texts(const char* name, std::vector<std::string>& values, const char* help,
             std::vector<std::string> choices = {});
  /// As texts(), but a comma is part of a value.
  void texts_with_commas(const char* name, std::vector<std::string>& values, const char* help);
  void flag(const char* name, bool& value, const char* help);

  /// Returns nothing if the program can go on, else its exit status: after --help 0, after an error
  /// not 0. Prints the help or the error if `print` is set; otherwise the status is 0.
  std::optional<int> read(int argc, char** argv, bool print = true);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bench
