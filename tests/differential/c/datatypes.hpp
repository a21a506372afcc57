// Datatypes from text, such as `vector(3,1,2,double)`: the constructor's name, its numbers in the
// order of its arguments, its datatypes. It is the notation of tests/mpi/c/describe.hpp, with words
// for MPI's constants.
#pragma once

#include <cctype>
#include <map>
#include <stdexcept>
#include <string>

#include "../../mpi/c/make.hpp"

class DatatypeText {
 public:
  /// A new committed type. Throws std::runtime_error if the text is none.
  static MPI_Datatype make(const std::string& text) {
    DatatypeText reader(text);
    MPI_Datatype type = reader.read();
    if (named(type)) PMPI_Type_dup(type, &type);
    MPI_Type_commit(&type);
    return type;
  }
  /// The predefined type of that name, or MPI_DATATYPE_NULL.
  static MPI_Datatype predefined(const std::string& name) {
    static const std::map<std::string, MPI_Datatype> all = {
        {"byte", MPI_BYTE},   {"char", MPI_CHAR},     {"short", MPI_SHORT}, {"int", MPI_INT},
        {"float", MPI_FLOAT}, {"double", MPI_DOUBLE}, {"long", MPI_LONG},   {"double_int", MPI_DOUBLE_INT},
        {"2int", MPI_2INT},
    };
    const auto found = all.find(name);
    return found == all.end() ? MPI_DATATYPE_NULL : found->second;
  }

 private:
  explicit DatatypeText(const std::string& text) : text_(text) {}

  static bool named(MPI_Datatype type) {
    int integers, addresses, types, combiner;
    PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    return combiner == MPI_COMBINER_NAMED;
  }
  std::string word() {
    std::size_t end = at_;
    while (end < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[end])) || text_[end] == '_' || text_[end] == '-'))
      ++end;
    const std::string found = text_.substr(at_, end - at_);
    at_ = end;
    return found;
  }
  void skip(char expected) {
    if (at_ >= text_.size() || text_[at_] != expected) throw std::runtime_error("not a datatype: " + text_);
    ++at_;
  }
  bool ends() const { return at_ >= text_.size() || text_[at_] == ')'; }

  MPI_Datatype read() {
    const std::string name = word();
    if (const MPI_Datatype type = predefined(name); type != MPI_DATATYPE_NULL) return type;
    skip('(');
    std::vector<MPI_Aint> numbers;
    Types olds;
    while (!ends()) {
      const std::size_t begin = at_;
      const std::string next = word();
      if (constants().count(next)) {
        numbers.push_back(constants().at(next));
      } else if (std::isdigit(static_cast<unsigned char>(next.back())) &&
                 next.find_first_not_of("-0123456789") == std::string::npos) {
        numbers.push_back(std::stol(next));
      } else {
        at_ = begin;
        olds.push_back(read());
      }
      if (!ends()) skip(',');
    }
    skip(')');
    const MPI_Datatype type = construct(name, numbers, olds);
    for (MPI_Datatype& old : olds)
      if (!named(old)) MPI_Type_free(&old);
    return type;
  }

  static const std::map<std::string, int>& constants() {
    static const std::map<std::string, int> all = {
        {"c", MPI_ORDER_C},
        {"fortran", MPI_ORDER_FORTRAN},
        {"block", MPI_DISTRIBUTE_BLOCK},
        {"cyclic", MPI_DISTRIBUTE_CYCLIC},
        {"none", MPI_DISTRIBUTE_NONE},
        {"default", MPI_DISTRIBUTE_DFLT_DARG},
    };
    return all;
  }

  MPI_Datatype construct(const std::string& name, const std::vector<MPI_Aint>& n, const Types& olds) const {
    const MPI_Datatype old = olds.at(0);
    const auto part = [&n](std::size_t from, std::size_t count) {
      return Aints(n.begin() + long(from), n.begin() + long(from + count));
    };
    const auto ints = [&part](std::size_t from, std::size_t count) {
      const Aints wide = part(from, count);
      return Ints(wide.begin(), wide.end());
    };
    const std::size_t count = std::size_t(n.empty() ? 0 : n[0]);
    if (name == "dup") return make::duplicate(old);
    if (name == "contiguous") return make::contiguous(int(n[0]), old);
    if (name == "vector") return make::vector(int(n[0]), int(n[1]), int(n[2]), old);
    if (name == "hvector") return make::hvector(int(n[0]), int(n[1]), n[2], old);
    if (name == "resized") return make::resized(n[0], n[1], old);
    if (name == "indexed") return make::indexed(ints(1, count), ints(1 + count, count), old);
    if (name == "hindexed") return make::hindexed(ints(1, count), part(1 + count, count), old);
    if (name == "indexed_block") return make::indexed_block(int(n[1]), ints(2, count), old);
    if (name == "hindexed_block") return make::hindexed_block(int(n[1]), part(2, count), old);
    if (name == "struct") return make::structure(ints(1, count), part(1 + count, count), olds);
    if (name == "subarray")
      return make::subarray(ints(1, count), ints(1 + count, count), ints(1 + 2 * count, count), int(n.back()), old);
    if (name == "darray") {
      const std::size_t d = std::size_t(n[2]);
      return make::darray(int(n[0]), int(n[1]), ints(3, d), ints(3 + d, d), ints(3 + 2 * d, d), ints(3 + 3 * d, d),
                          int(n.back()), old);
    }
    throw std::runtime_error("no such constructor: " + name);
  }

  const std::string text_;
  std::size_t at_ = 0;
};
