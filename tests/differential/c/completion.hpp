// The calls that complete requests. Each goes on until all its requests have ended, and tells the
// union of what its calls told.
#pragma once

#include <sched.h>

#include <set>

#include "messages.hpp"

class Completion {
 public:
  Completion(const Senders& senders, const Statement& statement, std::map<std::string, Operation>& operations)
      : senders_(senders), statement_(statement), ignored_(statement.text("status") == "ignore") {
    for (const std::string& name : statement.names) {
      operations_.push_back(&operations.at(name));
      requests_.push_back(operations_.back()->request);
    }
    statuses_.resize(requests_.size());
    indices_.resize(requests_.size());
  }

  void run() {
    const std::string& verb = statement_.verb;
    if (verb == "wait" || verb == "test") each(verb == "wait");
    if (verb == "waitall" || verb == "testall") all(verb == "waitall");
    if (verb == "waitany" || verb == "testany") any(verb == "waitany");
    if (verb == "waitsome" || verb == "testsome") some(verb == "waitsome");
    for (const std::string& code : codes_) note("code", code);
    finish();
  }

 private:
  MPI_Status* status(std::size_t i) { return ignored_ ? MPI_STATUS_IGNORE : &statuses_[i]; }
  MPI_Status* statuses() { return ignored_ ? MPI_STATUSES_IGNORE : statuses_.data(); }

  void tell(std::size_t i, std::size_t place, int code) {
    const Operation& operation = *operations_[i];
    std::string text = code == MPI_SUCCESS ? "" : "error:" + class_name(code) + ",";
    text += operation.sends
                ? "sent"
                : received(senders_, *operation.begun, *operation.memory, ignored_ ? nullptr : &statuses_[place], code);
    results_[statement_.names[i]] = text;
  }

  void each(bool wait) {
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      int flag = 1, code;
      do {
        code = wait ? MPI_Wait(&requests_[i], status(i)) : MPI_Test(&requests_[i], &flag, status(i));
        if (!flag) sched_yield();
      } while (code == MPI_SUCCESS && !flag);
      codes_.insert(class_name(code));
      tell(i, i, code);
    }
  }

  void all(bool wait) {
    const int n = int(requests_.size());
    int flag = 1, code;
    do {
      code = wait ? MPI_Waitall(n, requests_.data(), statuses()) : MPI_Testall(n, requests_.data(), &flag, statuses());
      if (!flag) sched_yield();
    } while (code == MPI_SUCCESS && !flag);
    codes_.insert(class_name(code));
    int cls = MPI_SUCCESS;
    if (code != MPI_SUCCESS) PMPI_Error_class(code, &cls);
    if (cls != MPI_SUCCESS && cls != MPI_ERR_IN_STATUS) return;
    for (std::size_t i = 0; i < requests_.size(); ++i)
      if (cls == MPI_SUCCESS || !ignored_) tell(i, i, cls == MPI_SUCCESS ? MPI_SUCCESS : statuses_[i].MPI_ERROR);
  }

  void any(bool wait) {
    const int n = int(requests_.size());
    for (int done = 0; done < n;) {
      int index = MPI_UNDEFINED, flag = 1;
      const int code = wait ? MPI_Waitany(n, requests_.data(), &index, status(0))
                            : MPI_Testany(n, requests_.data(), &index, &flag, status(0));
      if (code == MPI_SUCCESS && !flag) {
        sched_yield();
        continue;
      }
      codes_.insert(class_name(code));
      if (code != MPI_SUCCESS && (index < 0 || index >= n)) return;
      if (index == MPI_UNDEFINED) return;
      tell(std::size_t(index), 0, code);
      ++done;
    }
  }

  void some(bool wait) {
    const int n = int(requests_.size());
    for (int done = 0; done < n;) {
      int count = 0;
      const int code = wait ? MPI_Waitsome(n, requests_.data(), &count, indices_.data(), statuses())
                            : MPI_Testsome(n, requests_.data(), &count, indices_.data(), statuses());
      if (code == MPI_SUCCESS && count == 0) {
        sched_yield();
        continue;
      }
      codes_.insert(class_name(code));
      if (count == MPI_UNDEFINED || count == 0) return;
      for (int k = 0; k < count; ++k)
        if (code == MPI_SUCCESS || !ignored_)  // else nobody is told which of them failed
          tell(std::size_t(indices_[k]), std::size_t(k),
               code == MPI_SUCCESS ? code : statuses_[std::size_t(k)].MPI_ERROR);
      done += count;
    }
  }

  /// Ends what a call with an error has left, and tells what that is. What a call tells as
  /// complete, failed or pending depends on timing, so this tells the end of each request that has
  /// none yet: the code of a wait for it, and what is in its memory then.
  void finish() {
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      Operation& operation = *operations_[i];
      std::string& result = results_[statement_.names[i]];
      const bool pending = result.rfind("error:pending", 0) == 0, open = result.empty() || pending;
      if (pending) result = "error:pending";
      int code = MPI_SUCCESS;
      const bool left = requests_[i] != MPI_REQUEST_NULL;
      if (left) {  // a wait for an inactive request returns at once
        if (!operation.persistent) result += result.empty() ? "left" : ",left";
        silent() = true;
        code = MPI_Wait(&requests_[i], MPI_STATUS_IGNORE);
        silent() = false;
      }
      if (result.empty()) result = "untold";
      if (open && left) result += ",then:" + class_name(code);
      if (open && !operation.sends) result += "," + left_behind(operation);
      if (operation.persistent && requests_[i] == MPI_REQUEST_NULL) result += ",gone";
      operation.request = requests_[i];
    }
    for (const auto& [name, result] : results_) note(name, result);
  }
  std::string left_behind(const Operation& operation) const {
    if (operation.truncated() || !operation.begun->has("bytes")) return damage(*operation.memory);
    return contents(senders_, *operation.memory, std::size_t(operation.begun->number("bytes")));
  }

  const Senders& senders_;
  const Statement& statement_;
  const bool ignored_;
  std::vector<Operation*> operations_;
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
  std::vector<int> indices_;
  std::set<std::string> codes_;
  std::map<std::string, std::string> results_;
};
