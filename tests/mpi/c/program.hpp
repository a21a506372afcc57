// The contract programs of one MPI are one executable: `contracts NAME ARGUMENTS...` runs the
// program NAME.
//
// A source file defines its program in place of main():
//
//   CONTRACT_PROGRAM(blocking) {  // int argc, char** argv, as main() of a program of its own would get them
//     ...
//   }
#pragma once

#include <map>
#include <string>

using ContractProgram = int (*)(int argc, char** argv);

// All programs of this executable, by name.
inline std::map<std::string, ContractProgram>& contract_programs() {
  static std::map<std::string, ContractProgram> programs;
  return programs;
}

#define CONTRACT_PROGRAM(name)                                                                                 \
  static int name##_program(int argc, char** argv);                                                            \
  [[maybe_unused]] static const bool name##_known = contract_programs().emplace(#name, name##_program).second; \
  static int name##_program([[maybe_unused]] int argc, [[maybe_unused]] char** argv)
