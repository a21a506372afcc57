// The harness of the contract programs: checks with stable names, a summary line, an exit code.
//
// A failure is one line on standard error, `FAIL contract=NAME rank=R check="WHAT" DETAIL`; the
// test driver gathers the check names. Programs know nothing of what may be loaded in front of the
// MPI.
#pragma once

#include <malloc.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "program.hpp"

class Contract {
 public:
  // A program that provides less than `level` of thread support sees `provided` < `level`.
  Contract(const char* name, int* argc, char*** argv, int level = MPI_THREAD_SINGLE) : name_(name) {
    MPI_Init_thread(argc, argv, level, &provided);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    // Where failures are provoked one process' error must end them all, or the others would wait
    // for it.
    if (!std::getenv("CONTRACT_ERRORS_ARE_FATAL")) {
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
      MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    }
    self() = this;
    // Memory that was freed is used again. New pages for every buffer would take most of the time.
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    const char* limit = std::getenv("CONTRACT_TIMEOUT");
    std::signal(SIGALRM, fatal);
    std::signal(SIGSEGV, fatal);
    std::signal(SIGBUS, fatal);
    std::signal(SIGFPE, fatal);
    std::signal(SIGABRT, fatal);
    alarm(limit ? std::atoi(limit) : 120);
  }

  int rank = 0, ranks = 1, provided = 0;

  // Names what runs now, so that a hang or a crash can be told apart from another.
  void section(const std::string& what) { std::snprintf(where_, sizeof where_, "%s", what.c_str()); }

  void check(bool ok, const std::string& what, const std::string& detail = "") {
    const std::lock_guard lock(mutex_);
    ++checks_;
    if (ok) return;
    ++failed_;
    if (shown_[what]++ < 2)
      std::fprintf(stderr, "FAIL contract=%s rank=%d check=\"%s\" %s\n", name_, rank, what.c_str(), detail.c_str());
  }

  // Something this MPI itself gets wrong; the program goes on with what the MPI does.
  void quirk(const std::string& what) {
    const std::lock_guard lock(mutex_);
    if (rank == 0 && quirks_[what]++ == 0)
      std::printf("quirk: this MPI differs from the typemap for %s; its own result is expected\n", what.c_str());
  }

  void skip(const std::string& why) {
    if (rank == 0) std::printf("skipped: %s\n", why.c_str());
  }

  // Prints the summary and ends MPI; the result is the exit code, the same on every rank.
  int finish() {
    section("finalize");
    long mine[2] = {checks_, failed_}, all[2];
    PMPI_Allreduce(mine, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
      std::printf("contract %s: %ld checks, %ld failed\n", name_, all[0], all[1]);
      std::fflush(stdout);
    }
    MPI_Finalize();
    alarm(0);
    return all[1] ? 1 : 0;
  }

  static Contract*& self() {
    static Contract* it = nullptr;
    return it;
  }

 private:
  // Only what a signal handler may do.
  static void fatal(int signal) {
    char line[512];
    const Contract& c = *self();
    const int n = std::snprintf(line, sizeof line, "FAIL contract=%s rank=%d check=\"%s\" %s (signal %d)\n", c.name_,
                                c.rank, c.where_, signal == SIGALRM ? "hung" : "crashed", signal);
    if (write(STDERR_FILENO, line, n) < 0) _exit(4);
    _exit(signal == SIGALRM ? 3 : 2);
  }

  const char* name_;
  char where_[256] = "start";
  long checks_ = 0, failed_ = 0;
  std::map<std::string, int> shown_, quirks_;
  std::mutex mutex_;
};

inline Contract& contract() { return *Contract::self(); }

inline void check(bool ok, const std::string& what, const std::string& detail = "") {
  contract().check(ok, what, detail);
}

inline void check_numbers(long long got, long long expected, const std::string& what) {
  const bool equal = got == expected;
  contract().check(equal, what, equal ? "" : "expected " + std::to_string(expected) + " got " + std::to_string(got));
}

template <class A, class B>
void check_equal(const A& got, const B& expected, const std::string& what) {
  check_numbers((long long)got, (long long)expected, what);
}

// An error code belongs to a class; success is MPI_SUCCESS.
inline void check_class(int code, int expected, const std::string& what) {
  int cls = MPI_SUCCESS;
  if (code != MPI_SUCCESS) PMPI_Error_class(code, &cls);
  check_equal(cls, expected, what);
}

inline void check_ok(int code, const std::string& what) { check_class(code, MPI_SUCCESS, what); }
