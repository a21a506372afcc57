// Handles that programs hold. A handle is a number that is never used again and never an address,
// so that the use of a destroyed object is always detected.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>

namespace dunnage::sim {

std::uintptr_t new_handle();

template <class Handle, class Object>
class Table {
 public:
  Handle add(std::shared_ptr<Object> object) {
    const auto handle = reinterpret_cast<Handle>(new_handle());
    put(handle, std::move(object));
    return handle;
  }
  void put(Handle handle, std::shared_ptr<Object> object) { objects_[handle] = std::move(object); }
  std::shared_ptr<Object> find(Handle handle) const {
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }
  void erase(Handle handle) { objects_.erase(handle); }
  template <class Predicate>
  void erase_if(Predicate predicate) {
    std::erase_if(objects_, [&](const auto& entry) { return predicate(*entry.second); });
  }

 private:
  std::unordered_map<Handle, std::shared_ptr<Object>> objects_;
};

}  // namespace dunnage::sim
