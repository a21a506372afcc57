#include "halo/requests.hpp"

namespace bench::halo {

Messages::Messages(const Domain& domain, const std::vector<Region>& regions, bool joined) {
  constexpr int tags_of_a_variable = 27;
  for (const auto& region : regions) {
    types_.push_back(type_of(domain, region.inner, joined));
    types_.push_back(type_of(domain, region.ghost, joined));
    for (int v = 0; v < (joined ? 1 : domain.variables()); ++v) {
      auto* const base = domain.at(v, {0, 0, 0});
      const int first = v * tags_of_a_variable;
      sends_.push_back({base, types_[types_.size() - 2], region.peer, first + region.send_tag});
      receives_.push_back({base, types_.back(), region.peer, first + region.receive_tag});
    }
  }
}

Messages::~Messages() {
  for (auto& type : types_) MPI_Type_free(&type);
}

}  // namespace bench::halo
