// Runs the contract program that the first argument names. Exit code 2 if there is none of that
// name.
#include "program.hpp"

#include <cstdio>

int main(int argc, char** argv) {
  const auto program = argc > 1 ? contract_programs().find(argv[1]) : contract_programs().end();
  if (program == contract_programs().end()) {
    std::fprintf(stderr, "usage: contracts NAME ARGUMENTS...; the names are:\n");
    for (const auto& [name, unused] : contract_programs()) std::fprintf(stderr, "  %s\n", name.c_str());
    return 2;
  }
  argv[1] = argv[0];
  return program->second(argc - 1, argv + 1);
}
