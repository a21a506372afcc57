// What a rank saw: one line for each statement, in a form that does not depend on timing.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <vector>

inline std::string class_name(int code) {
  int cls = MPI_SUCCESS;
  if (code != MPI_SUCCESS) PMPI_Error_class(code, &cls);
  static const std::map<int, const char*> names = {{MPI_SUCCESS, "success"},
                                                   {MPI_ERR_BUFFER, "buffer"},
                                                   {MPI_ERR_COUNT, "count"},
                                                   {MPI_ERR_TYPE, "type"},
                                                   {MPI_ERR_TAG, "tag"},
                                                   {MPI_ERR_COMM, "comm"},
                                                   {MPI_ERR_RANK, "rank"},
                                                   {MPI_ERR_ROOT, "root"},
                                                   {MPI_ERR_ARG, "arg"},
                                                   {MPI_ERR_TRUNCATE, "truncate"},
                                                   {MPI_ERR_OTHER, "other"},
                                                   {MPI_ERR_INTERN, "intern"},
                                                   {MPI_ERR_OP, "op"},
                                                   {MPI_ERR_PENDING, "pending"},
                                                   {MPI_ERR_IN_STATUS, "in_status"},
                                                   {MPI_ERR_REQUEST, "request"}};
  const auto found = names.find(cls);
  return found == names.end() ? "class" + std::to_string(cls) : found->second;
}

/// The communicators of a script by name. Safe to use by two threads.
class Communicators {
 public:
  void add(const std::string& name, MPI_Comm comm) {
    const std::lock_guard lock(mutex_);
    all_[name] = comm;
  }
  MPI_Comm get(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return all_.at(name);
  }
  void remove(const std::string& name) {
    const std::lock_guard lock(mutex_);
    all_.erase(name);
  }
  std::string name_of(MPI_Comm comm) {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, known] : all_)
      if (known == comm) return name;
    return "unknown";
  }
  std::map<std::string, MPI_Comm> all() {
    const std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  std::map<std::string, MPI_Comm> all_;
  std::mutex mutex_;
};

inline Communicators& communicators() {
  static Communicators all;
  return all;
}

/// What the statement that this thread runs has seen so far.
inline std::string& seen() {
  thread_local std::string text;
  return text;
}
inline bool& silent() {  // while requests are ended that no statement asks about
  thread_local bool value = false;
  return value;
}

inline void note(const std::string& key, const std::string& value) { seen() += " " + key + "=" + value; }
inline void note(const std::string& key, long value) { note(key, std::to_string(value)); }

/// The error handler of the scripts.
inline void handler(MPI_Comm* comm, int* code, ...) {
  if (!silent()) note("handler", communicators().name_of(*comm) + ":" + class_name(*code));
}
