// What a program sees of messages that are longer than their receives: codes, calls of its error
// handler, statuses and requests. The program prints all it sees, and checks nothing: the lines
// with and without Dunnage are compared.
//
// The messages are short, and have come before they are asked for, so that every run sees the same.
// With the argument `large` they are long, and only those calls are made that wait for all they are
// asked about.
#include <cstdarg>
#include <numeric>

#include "samples.hpp"

namespace errors_contract {

constexpr int messages = 5;
int room = 60, too_long = 90;  // doubles
std::string seen;              // of the scenario that runs

std::string class_of(int code) {
  int cls = -1;
  PMPI_Error_class(code, &cls);
  switch (cls) {
    case MPI_SUCCESS: return "success";
    case MPI_ERR_TRUNCATE: return "truncate";
    case MPI_ERR_IN_STATUS: return "in_status";
    case MPI_ERR_PENDING: return "pending";
    default: return "class " + std::to_string(cls);
  }
}

void handler(MPI_Comm*, int* code, ...) { seen += " handler(" + class_of(*code) + ")"; }

class Receives {
 public:
  /// `wrong`: the messages that are too long, as bits.
  Receives(unsigned wrong, bool persistent, MPI_Comm comm) : comm_(comm) {
    for (int i = 0; i < messages; ++i) {
      const bool longer = wrong >> i & 1;
      in_.push_back(std::make_unique<Region>(strided(), room));
      out_.push_back(std::make_unique<Region>(strided(), longer ? too_long : room));
      out_.back()->fill(unsigned(i) + 1);
      auto& r = *in_.back();
      MPI_Request request = MPI_REQUEST_NULL;
      if (contract().rank == 0) {
        if (persistent) {
          MPI_Recv_init(r.address, r.count, r.type, 1, i, comm, &request);
          MPI_Start(&request);
        } else {
          MPI_Irecv(r.address, r.count, r.type, 1, i, comm, &request);
        }
      }
      requests_.push_back(request);
    }
    PMPI_Barrier(MPI_COMM_WORLD);
    if (contract().rank == 1)
      for (int i = 0; i < messages; ++i) MPI_Send(out_[i]->address, out_[i]->count, out_[i]->type, 0, i, comm);
    // What has been sent before a barrier's message comes before it.
    for (int i = 0; i < 3; ++i) PMPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Request* requests() { return requests_.data(); }
  /// What is left is ended, and the buffers are told.
  void end(bool persistent) {
    seen += "; left";
    for (auto& request : requests_) seen += request == MPI_REQUEST_NULL ? " -" : " r";
    PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    seen += "; data";
    for (int i = 0; i < messages; ++i) {
      if (requests_[i] != MPI_REQUEST_NULL) MPI_Wait(&requests_[i], MPI_STATUS_IGNORE);
      if (persistent && requests_[i] != MPI_REQUEST_NULL) MPI_Request_free(&requests_[i]);
      if (out_[i]->size() == in_[i]->size()) seen += in_[i]->packed() == out_[i]->packed() ? " +" : " WRONG";
    }
  }

 private:
  static const Sample& strided() {
    static const Sample sample = {"vector", [](int n) { return make::vector(n, 1, 2, MPI_DOUBLE); }};
    return sample;
  }
  const MPI_Comm comm_;
  std::vector<std::unique_ptr<Region>> in_, out_;
  std::vector<MPI_Request> requests_;
};

/// `told`: whether MPI_ERROR of the status means something.
std::string text(const MPI_Status& status, bool told) {
  int bytes = -1;
  std::string error = told ? ' ' + class_of(status.MPI_ERROR) : "";
  if (told && status.MPI_ERROR != MPI_SUCCESS) return " [" + error.substr(1) + "]";
  PMPI_Get_count(&status, MPI_BYTE, &bytes);
  return " [" + std::to_string(status.MPI_SOURCE) + " " + std::to_string(status.MPI_TAG) + " " + std::to_string(bytes) +
         error + "]";
}

struct Statuses {
  explicit Statuses(bool wanted) : given(wanted) { std::memset(all, 0x55, sizeof all); }
  MPI_Status* get() { return given ? all : MPI_STATUSES_IGNORE; }
  MPI_Status* one() { return given ? all : MPI_STATUS_IGNORE; }
  void tell(int n, int code) {
    for (int k = 0; given && k < n; ++k) seen += text(all[k], code != MPI_SUCCESS);
  }
  const bool given;
  MPI_Status all[messages];
};

std::string flagged(int flag) { return flag ? " done" : " not done"; }

using Ask = void (*)(MPI_Request*, Statuses&);
struct Call {
  const char* name;
  bool waits;  // for all that it is asked about
  Ask ask;
};
constexpr int rounds = messages + 1;

const Call calls[] = {
    {"Wait", true,
     [](MPI_Request* requests, Statuses& statuses) {
       for (int i = 0; i < messages; ++i) {
         const int code = MPI_Wait(&requests[i], statuses.one());
         seen += ", " + class_of(code);
         if (code == MPI_SUCCESS) statuses.tell(1, MPI_SUCCESS);
       }
     }},
    {"Test", false,
     [](MPI_Request* requests, Statuses& statuses) {
       for (int i = 0; i < messages; ++i) {
         int flag = 0;
         const int code = MPI_Test(&requests[i], &flag, statuses.one());
         seen += ", " + class_of(code) + flagged(flag);
         if (code == MPI_SUCCESS && flag) statuses.tell(1, MPI_SUCCESS);
       }
     }},
    {"Waitall", true,
     [](MPI_Request* requests, Statuses& statuses) {
       const int code = MPI_Waitall(messages, requests, statuses.get());
       seen += ", " + class_of(code);
       statuses.tell(messages, code);
     }},
    {"Waitall of two", true,
     [](MPI_Request* requests, Statuses& statuses) {
       for (int i = 0; i + 2 <= messages; i += 2) {
         const int code = MPI_Waitall(2, requests + i, statuses.get());
         seen += ", " + class_of(code);
         statuses.tell(2, code);
       }
     }},
    {"Testall", false,
     [](MPI_Request* requests, Statuses& statuses) {
       int flag = 0;
       const int code = MPI_Testall(messages, requests, &flag, statuses.get());
       seen += ", " + class_of(code) + (code == MPI_SUCCESS ? flagged(flag) : "");
       if (flag || code != MPI_SUCCESS) statuses.tell(messages, code);
     }},
    {"Waitany", false,
     [](MPI_Request* requests, Statuses& statuses) {
       for (int i = 0; i < rounds; ++i) {
         int index = -7;
         const int code = MPI_Waitany(messages, requests, &index, statuses.one());
         seen += ", " + class_of(code) + " " + std::to_string(index);
         if (code == MPI_SUCCESS) statuses.tell(1, MPI_SUCCESS);
       }
     }},
    {"Testany", false,
     [](MPI_Request* requests, Statuses& statuses) {
       for (int i = 0; i < rounds; ++i) {
         int index = -7, flag = 0;
         const int code = MPI_Testany(messages, requests, &index, &flag, statuses.one());
         seen += ", " + class_of(code) + " " + std::to_string(index) + flagged(flag);
         if (code == MPI_SUCCESS && flag) statuses.tell(1, MPI_SUCCESS);
       }
     }},
    {"Waitsome", false,
     [](MPI_Request* requests, Statuses& statuses) {
       for (int i = 0; i < rounds; ++i) {
         int indices[messages], count = -7;
         const int code = MPI_Waitsome(messages, requests, &count, indices, statuses.get());
         seen += ", " + class_of(code) + " " + std::to_string(count) + ":";
         for (int k = 0; k < count; ++k) seen += ' ' + std::to_string(indices[k]);
         statuses.tell(std::max(count, 0), code);
         if (count <= 0) break;
       }
     }},
    {"Testsome", false,
     [](MPI_Request* requests, Statuses& statuses) {
       for (int i = 0; i < rounds; ++i) {
         int indices[messages], count = -7;
         const int code = MPI_Testsome(messages, requests, &count, indices, statuses.get());
         seen += ", " + class_of(code) + " " + std::to_string(count) + ":";
         for (int k = 0; k < count; ++k) seen += ' ' + std::to_string(indices[k]);
         statuses.tell(std::max(count, 0), code);
         if (count <= 0) break;
       }
     }},
};

void blocking(MPI_Comm comm) {
  const Sample strided = {"vector", [](int n) { return make::vector(n, 1, 2, MPI_DOUBLE); }};
  Region in(strided, room), out(strided, too_long);
  out.fill(1);
  if (contract().rank == 1) {
    MPI_Send(out.address, out.count, out.type, 0, 3, comm);
    MPI_Send(out.address, out.count, out.type, 0, 3, comm);
  }
  if (contract().rank != 0) return;
  Statuses statuses(true);
  seen += ", " + class_of(MPI_Recv(in.address, in.count, in.type, 1, 3, comm, statuses.one()));
  seen += ", " + class_of(MPI_Recv(in.address, in.count, in.type, 1, 3, comm, MPI_STATUS_IGNORE));
}

/// The program frees the request of a receive, and asks about it no more. Then nobody is told.
void freed(MPI_Comm comm) {
  const Sample strided = {"vector", [](int n) { return make::vector(n, 1, 2, MPI_DOUBLE); }};
  Region in(strided, room), out(strided, too_long);
  out.fill(1);
  MPI_Request request = MPI_REQUEST_NULL;
  if (contract().rank == 0) {
    MPI_Irecv(in.address, in.count, in.type, 1, 4, comm, &request);
    seen += ", " + class_of(MPI_Request_free(&request));
  }
  PMPI_Barrier(MPI_COMM_WORLD);
  if (contract().rank == 1) MPI_Send(out.address, out.count, out.type, 0, 4, comm);
  for (int i = 0; i < 3; ++i) PMPI_Barrier(MPI_COMM_WORLD);
  if (contract().rank != 0) return;
  int to = 0;
  const int from = 7;
  for (int i = 0; i < 3; ++i) {
    const int code = MPI_Sendrecv(&from, 1, MPI_INT, 0, 5, &to, 1, MPI_INT, 0, 5, comm, MPI_STATUS_IGNORE);
    seen += ", " + class_of(code);
  }
}

/// `f` runs with the handler; rank 0 prints what it has seen.
template <class F>
void scenario(const std::string& name, bool own_comm, bool returns, F&& f) {
  MPI_Comm comm = MPI_COMM_WORLD;
  if (own_comm) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Errhandler kept;
  MPI_Comm_create_errhandler(handler, &kept);
  const std::string what = name + (own_comm ? ", own communicator" : "") + (returns ? ", returns" : ", handler");
  contract().section(what);
  seen.clear();
  MPI_Comm_set_errhandler(comm, returns ? MPI_ERRORS_RETURN : kept);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, returns ? MPI_ERRORS_RETURN : kept);
  f(comm);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (contract().rank == 0) std::printf("%s: %s\n", what.c_str(), seen.c_str());
  PMPI_Barrier(MPI_COMM_WORLD);
  MPI_Errhandler_free(&kept);
  if (own_comm) MPI_Comm_free(&comm);
}

CONTRACT_PROGRAM(errors) {
  Contract c("errors", &argc, &argv);
  const bool large = argc > 1 && std::string(argv[1]) == "large";
  if (large) room = 6000, too_long = 9000;
  for (const bool own : {false, true})
    for (const bool returns : {false, true}) {
      scenario("Recv", own, returns, [](MPI_Comm comm) { blocking(comm); });
      scenario("Request_free", own, returns, [](MPI_Comm comm) { freed(comm); });
      for (const bool persistent : {false, true})
        for (const auto& call : calls) {
          if (large && !call.waits) continue;
          for (const bool wanted : {true, false})
            for (const unsigned wrong : {1u, 2u, 4u, 16u, 11u, 31u})
              scenario(std::string(call.name) + (persistent ? ", persistent" : "") + (wanted ? "" : ", no statuses") +
                           ", too long " + std::to_string(wrong),
                       own, returns, [&](MPI_Comm comm) {
                         Receives receives(wrong, persistent, comm);
                         if (c.rank != 0) return;
                         Statuses statuses(wanted);
                         call.ask(receives.requests(), statuses);
                         receives.end(persistent);
                       });
        }
    }
  return c.finish();
}

}  // namespace errors_contract
