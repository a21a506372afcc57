// A script: one statement a line, `WHO VERB NAMES... KEY=VALUE... @GROUP`.
// tests/differential/README.md describes the language.
#pragma once

#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

struct Statement {
  int line = 0;
  int rank = -1;  // -1: all ranks
  int thread = 0;
  std::string verb;
  std::vector<std::string> names;
  std::map<std::string, std::string> options;

  bool is_for(int of_rank, int of_thread) const { return (rank < 0 || rank == of_rank) && thread == of_thread; }
  bool has(const std::string& key) const { return options.count(key) > 0; }
  std::string text(const std::string& key, const std::string& otherwise = "") const {
    const auto found = options.find(key);
    return found == options.end() ? otherwise : found->second;
  }
  long number(const std::string& key, long otherwise = 0) const {
    return has(key) ? std::stol(options.at(key)) : otherwise;
  }
};

struct Script {
  std::string name;
  std::vector<Statement> statements;
};

inline Statement parse_statement(const std::string& text, int line) {
  Statement s;
  s.line = line;
  std::istringstream words(text);
  std::string who, word;
  words >> who >> s.verb;
  if (const auto dot = who.find('.'); dot != std::string::npos) {
    s.thread = std::stoi(who.substr(dot + 1));
    who.resize(dot);
  }
  if (who != "*") s.rank = std::stoi(who);
  while (words >> word) {
    const auto equals = word.find('=');
    if (word[0] == '@') continue;  // which statements belong together: for the driver alone
    if (equals == std::string::npos)
      s.names.push_back(word);
    else
      s.options[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return s;
}

/// Throws std::runtime_error if the file cannot be read.
inline Script read_script(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  Script script{path, {}};
  std::string text;
  for (int line = 1; std::getline(file, text); ++line)
    if (!text.empty() && text[0] != '#') script.statements.push_back(parse_statement(text, line));
  return script;
}
