#include "fake_mpi.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <unordered_map>

namespace fake {

Habits habits;

namespace {

constexpr MPI_Request ended_send = 0x6c000001;  // one handle for all

/// What a completed operation tells.
struct Outcome {
  int source = MPI_ANY_SOURCE, tag = MPI_ANY_TAG, error = MPI_SUCCESS;
  std::int64_t bytes = 0;
  bool cancelled = false;
};

struct Operation {
  bool send = false, synchronous = false, persistent = false, active = false, complete = false, forgotten = false;
  void* buffer = nullptr;
  std::int64_t count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int peer = MPI_PROC_NULL, tag = 0;
  MPI_Comm comm = MPI_COMM_WORLD;
  Outcome outcome;
};
using OperationPointer = std::shared_ptr<Operation>;

/// A message on its way. `send` is the operation that waits until it is matched.
struct Packet {
  int source, dest, tag;
  MPI_Comm comm;
  std::string data;
  OperationPointer send;
};
using Packets = std::list<Packet>;

struct State {
  std::map<MPI_Request, OperationPointer> operations;
  std::list<OperationPointer> posted;  // receives that nothing has matched, in the order of their calls
  Packets arrived;                     // to rank 0, and not matched
  Packets away;                        // to other ranks, and not taken
  std::map<MPI_Message, Packet> matched;
  std::map<std::string, int> faults, calls;
  std::vector<int> errors;
  MPI_Errhandler handler = MPI_ERRORS_ARE_FATAL;  // of MPI_COMM_WORLD
  const void* last_buffer = nullptr;
  const void* last_receive_buffer = nullptr;
  std::int64_t last_bytes = 0;
};
State* state = new State;
unsigned next_handle = 0x98000000u;  // requests and messages; never used again

/// Counts a call. Returns the code that it is to fail with.
int enter(const char* function) {
  ++state->calls[function];
  const auto fault = state->faults.find(function);
  if (fault == state->faults.end()) return MPI_SUCCESS;
  const int code = fault->second;
  state->faults.erase(fault);
  return code;
}
int told(int fault) { return habits.hides_errors ? MPI_SUCCESS : fault; }
#define FAKE_ENTER(function) \
  if (const int fault = enter(#function); fault != MPI_SUCCESS) return told(fault)

int deadlock(const char* function) {
  ADD_FAILURE() << function << " would wait for ever";
  return MPI_ERR_OTHER;
}

void write(MPI_Status* status, const Outcome& outcome, bool error = false) {
  if (status == MPI_STATUS_IGNORE) return;
  const auto bytes = static_cast<std::uint64_t>(outcome.bytes);
  status->count_lo = static_cast<int>(bytes);
  status->count_hi_and_cancelled = static_cast<int>((bytes >> 32) << 1 | outcome.cancelled);
  status->MPI_SOURCE = outcome.source;
  status->MPI_TAG = outcome.tag;
  if (error) status->MPI_ERROR = outcome.error;
}

// --- Matching ------------------------------------------------------------------------------------

bool matches(const Packet& packet, int source, int tag, MPI_Comm comm) {
  return packet.comm == comm && (source == MPI_ANY_SOURCE || source == packet.source) &&
         (tag == MPI_ANY_TAG || tag == packet.tag);
}

/// The receive gets the message.
void receive(Operation& receive, const Packet& packet) {
  const auto capacity = receive.count * type_of(receive.type).size;
  const auto length = static_cast<std::int64_t>(packet.data.size());
  receive.outcome = {packet.source, packet.tag, length > capacity ? MPI_ERR_TRUNCATE : MPI_SUCCESS,
                     std::min(length, capacity), false};
  unpack(packet.data.substr(0, static_cast<std::size_t>(receive.outcome.bytes)), receive.buffer, receive.count,
         receive.type);
  receive.complete = true;
  if (packet.send) packet.send->complete = true;
}

void put(Packet packet) {
  auto& posted = state->posted;
  const auto found = std::find_if(posted.begin(), posted.end(),
                                  [&](const auto& r) { return matches(packet, r->peer, r->tag, r->comm); });
  if (found == posted.end()) return state->arrived.push_back(std::move(packet));
  receive(**found, packet);
  posted.erase(found);
}

Packets::iterator find_arrived(int source, int tag, MPI_Comm comm) {
  return std::find_if(state->arrived.begin(), state->arrived.end(),
                      [&](const auto& packet) { return matches(packet, source, tag, comm); });
}

void start(const OperationPointer& operation) {
  auto& o = *operation;
  o.active = true;
  o.complete = o.forgotten = false;
  o.outcome = {};
  if (o.peer == MPI_PROC_NULL) {
    o.complete = true;
    if (!o.send) o.outcome.source = MPI_PROC_NULL;
  } else if (o.send) {
    Packet packet{0, o.comm == MPI_COMM_SELF ? 0 : o.peer, o.tag, o.comm, pack(o.buffer, o.count, o.type), {}};
    state->last_buffer = o.buffer;
    state->last_bytes = static_cast<std::int64_t>(packet.data.size());
    o.complete = !o.synchronous && !(habits.sends_wait && packet.dest != 0);
    if (!o.complete) packet.send = operation;
    if (packet.dest == 0)
      put(std::move(packet));
    else
      state->away.push_back(std::move(packet));
  } else if (const auto found = find_arrived(o.peer, o.tag, o.comm); found != state->arrived.end()) {
    receive(o, *found);
    state->arrived.erase(found);
  } else {
    state->posted.push_back(operation);
  }
}

// --- Requests ------------------------------------------------------------------------------------

MPI_Request enlist(const OperationPointer& operation) {
  if (habits.one_handle_for_ended_sends && operation->send && operation->complete && !operation->persistent)
    return ended_send;
  const auto handle = static_cast<MPI_Request>(++next_handle);
  state->operations.emplace(handle, operation);
  return handle;
}

/// Null if there is nothing to wait for: a null request, an inactive one, or an ended send.
Operation* active(MPI_Request request) {
  if (request == MPI_REQUEST_NULL || request == ended_send) return nullptr;
  const auto found = state->operations.find(request);
  if (found == state->operations.end()) {
    ADD_FAILURE() << "the MPI was given a request that is none";
    return nullptr;
  }
  return found->second->active && !found->second->forgotten ? found->second.get() : nullptr;
}

bool ended(MPI_Request request) {
  const auto* operation = active(request);
  return !operation || operation->complete;
}

/// Ends a completed request. Returns its error.
int end(MPI_Request* request, MPI_Status* status, bool error = false) {
  auto* operation = active(*request);
  const auto outcome = operation ? operation->outcome : Outcome{};
  write(status, outcome, error);
  if (operation) operation->active = false;
  const auto found = state->operations.find(*request);
  if (found != state->operations.end() && found->second->persistent) {
    found->second->active = false;
    return outcome.error;
  }
  if (found != state->operations.end()) state->operations.erase(found);
  *request = MPI_REQUEST_NULL;
  return outcome.error;
}

OperationPointer make(bool send, const void* buffer, std::int64_t count, MPI_Datatype type, int peer, int tag,
                      MPI_Comm comm) {
  auto operation = std::make_shared<Operation>();
  operation->send = send;
  operation->buffer = const_cast<void*>(buffer);
  operation->count = count;
  operation->type = type;
  operation->peer = peer;
  operation->tag = tag;
  operation->comm = comm;
  return operation;
}

int begin(const OperationPointer& operation, MPI_Request* request) {
  start(operation);
  *request = enlist(operation);
  return MPI_SUCCESS;
}

int wait(const char* function, MPI_Request* request, MPI_Status* status) {
  return ended(*request) ? end(request, status) : deadlock(function);
}

bool all_ended(int count, MPI_Request requests[]) {
  return std::all_of(requests, requests + count, [](auto request) { return ended(request); });
}

int end_all(int count, MPI_Request requests[], MPI_Status statuses[]) {
  int result = MPI_SUCCESS;
  std::vector<MPI_Status> own(static_cast<std::size_t>(count));
  auto* to = statuses == MPI_STATUSES_IGNORE ? own.data() : statuses;
  for (int i = 0; i < count; ++i)
    if (end(&requests[i], &to[i]) != MPI_SUCCESS) result = MPI_ERR_IN_STATUS;
  return result;
}

// --- Functions of the MPI: sends and receives ----------------------------------------------------

std::int64_t passed = 0;  // nanoseconds of now()

void be_slow(MPI_Datatype type) {
  const auto& t = type_of(type);
  const bool contiguous = t.size == t.extent;
  if (habits.slow == (contiguous ? Habits::Slow::contiguous : Habits::Slow::strided)) passed += 2000000;
}

int isend(const char* function, bool synchronous, const void* buffer, int count, MPI_Datatype type, int dest, int tag,
          MPI_Comm comm, MPI_Request* request) {
  if (const int fault = enter(function); fault != MPI_SUCCESS) return told(fault);
  be_slow(type);
  auto operation = make(true, buffer, count, type, dest, tag, comm);
  operation->synchronous = synchronous;
  return begin(operation, request);
}

int send(const char* function, bool synchronous, const void* buffer, int count, MPI_Datatype type, int dest, int tag,
         MPI_Comm comm) {
  MPI_Request request;
  const int rc = isend(function, synchronous, buffer, count, type, dest, tag, comm, &request);
  return rc == MPI_SUCCESS ? wait(function, &request, MPI_STATUS_IGNORE) : rc;
}

int send_init(const char* function, bool synchronous, const void* buffer, int count, MPI_Datatype type, int dest,
              int tag, MPI_Comm comm, MPI_Request* request) {
  if (const int fault = enter(function); fault != MPI_SUCCESS) return told(fault);
  auto operation = make(true, buffer, count, type, dest, tag, comm);
  operation->synchronous = synchronous;
  operation->persistent = true;
  *request = enlist(operation);
  return MPI_SUCCESS;
}

// The three calls of one mode.
#define FAKE_SENDS(blocking, nonblocking, persistent, waits)                                                      \
  int blocking(const void* b, int n, MPI_Datatype t, int dest, int tag, MPI_Comm comm) {                          \
    return send(#blocking, waits, b, n, t, dest, tag, comm);                                                      \
  }                                                                                                               \
  int nonblocking(const void* b, int n, MPI_Datatype t, int dest, int tag, MPI_Comm comm, MPI_Request* request) { \
    return isend(#nonblocking, waits, b, n, t, dest, tag, comm, request);                                         \
  }                                                                                                               \
  int persistent(const void* b, int n, MPI_Datatype t, int dest, int tag, MPI_Comm comm, MPI_Request* request) {  \
    return send_init(#persistent, waits, b, n, t, dest, tag, comm, request);                                      \
  }
FAKE_SENDS(Send, Isend, Send_init, false)
FAKE_SENDS(Ssend, Issend, Ssend_init, true)
FAKE_SENDS(Rsend, Irsend, Rsend_init, false)
FAKE_SENDS(Bsend, Ibsend, Bsend_init, false)
#undef FAKE_SENDS

int Recv(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status* status) {
  FAKE_ENTER(Recv);
  be_slow(type);
  state->last_receive_buffer = buffer;
  MPI_Request request;
  begin(make(false, buffer, count, type, source, tag, comm), &request);
  return wait("Recv", &request, status);
}

int Irecv(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* request) {
  FAKE_ENTER(Irecv);
  be_slow(type);
  state->last_receive_buffer = buffer;
  return begin(make(false, buffer, count, type, source, tag, comm), request);
}

int Recv_init(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* request) {
  FAKE_ENTER(Recv_init);
  auto operation = make(false, buffer, count, type, source, tag, comm);
  operation->persistent = true;
  *request = enlist(operation);
  return MPI_SUCCESS;
}

int Sendrecv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf,
             int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status* status) {
  FAKE_ENTER(Sendrecv);
  be_slow(sendtype);
  be_slow(recvtype);
  state->last_receive_buffer = recvbuf;
  MPI_Request in, out;
  begin(make(false, recvbuf, recvcount, recvtype, source, recvtag, comm), &in);
  begin(make(true, sendbuf, sendcount, sendtype, dest, sendtag, comm), &out);
  wait("Sendrecv", &out, MPI_STATUS_IGNORE);
  return wait("Sendrecv", &in, status);
}

int Sendrecv_replace(void* buffer, int count, MPI_Datatype type, int dest, int sendtag, int source, int recvtag,
                     MPI_Comm comm, MPI_Status* status) {
  FAKE_ENTER(Sendrecv_replace);
  MPI_Request out;
  begin(make(true, buffer, count, type, dest, sendtag, comm), &out);
  wait("Sendrecv_replace", &out, MPI_STATUS_IGNORE);
  return Recv(buffer, count, type, source, recvtag, comm, status);
}

// --- Probes --------------------------------------------------------------------------------------

bool probe(int source, int tag, MPI_Comm comm, MPI_Status* status, MPI_Message* message) {
  if (source == MPI_PROC_NULL) {
    Outcome none;
    none.source = MPI_PROC_NULL;
    write(status, none);
    if (message) *message = MPI_MESSAGE_NO_PROC;
    return true;
  }
  const auto found = find_arrived(source, tag, comm);
  if (found == state->arrived.end()) return false;
  write(status, {found->source, found->tag, MPI_SUCCESS, static_cast<std::int64_t>(found->data.size()), false});
  if (message) {
    *message = static_cast<MPI_Message>(++next_handle);
    state->matched.emplace(*message, std::move(*found));
    state->arrived.erase(found);
  }
  return true;
}

int Probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
  FAKE_ENTER(Probe);
  return probe(source, tag, comm, status, nullptr) ? MPI_SUCCESS : deadlock("Probe");
}

int Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  FAKE_ENTER(Iprobe);
  *flag = probe(source, tag, comm, status, nullptr);
  return MPI_SUCCESS;
}

int Mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  FAKE_ENTER(Mprobe);
  return probe(source, tag, comm, status, message) ? MPI_SUCCESS : deadlock("Mprobe");
}

int Improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status) {
  FAKE_ENTER(Improbe);
  *flag = probe(source, tag, comm, status, message);
  return MPI_SUCCESS;
}

int Imrecv(void* buffer, int count, MPI_Datatype type, MPI_Message* message, MPI_Request* request) {
  FAKE_ENTER(Imrecv);
  auto operation = make(false, buffer, count, type, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  if (*message == MPI_MESSAGE_NO_PROC) {
    start(operation);
  } else {
    const auto found = state->matched.find(*message);
    if (found == state->matched.end()) return MPI_ERR_REQUEST;
    operation->active = true;
    receive(*operation, found->second);
    state->matched.erase(found);
  }
  *message = MPI_MESSAGE_NULL;
  *request = enlist(operation);
  return MPI_SUCCESS;
}

int Mrecv(void* buffer, int count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
  FAKE_ENTER(Mrecv);
  MPI_Request request;
  const int rc = Imrecv(buffer, count, type, message, &request);
  return rc == MPI_SUCCESS ? wait("Mrecv", &request, status) : rc;
}

// --- Completion ----------------------------------------------------------------------------------

int Start(MPI_Request* request) {
  FAKE_ENTER(Start);
  const auto& operation = state->operations.at(*request);
  be_slow(operation->type);
  if (!operation->send) state->last_receive_buffer = operation->buffer;
  start(operation);
  return MPI_SUCCESS;
}

int Startall(int count, MPI_Request requests[]) {
  FAKE_ENTER(Startall);
  for (int i = 0; i < count; ++i) start(state->operations.at(requests[i]));
  return MPI_SUCCESS;
}

int Wait(MPI_Request* request, MPI_Status* status) {
  FAKE_ENTER(Wait);
  return wait("Wait", request, status);
}

int Test(MPI_Request* request, int* flag, MPI_Status* status) {
  FAKE_ENTER(Test);
  *flag = ended(*request);
  return *flag ? end(request, status) : MPI_SUCCESS;
}

int Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  FAKE_ENTER(Waitall);
  return all_ended(count, requests) ? end_all(count, requests, statuses) : deadlock("Waitall");
}

int Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  FAKE_ENTER(Testall);
  *flag = all_ended(count, requests);
  return *flag ? end_all(count, requests, statuses) : MPI_SUCCESS;
}

/// The indices of requests that are active and complete. `any`: whether any is active.
std::vector<int> come(int count, const MPI_Request requests[], bool& any) {
  std::vector<int> found;
  any = false;
  for (int i = 0; i < count; ++i) {
    const bool sent = requests[i] == ended_send;
    any |= sent || active(requests[i]);
    if (sent || (active(requests[i]) && ended(requests[i]))) found.push_back(i);
  }
  return found;
}

int Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  FAKE_ENTER(Testany);
  bool any = false;
  const auto found = come(count, requests, any);
  *flag = !any || !found.empty();
  *index = found.empty() ? MPI_UNDEFINED : found.front();
  if (!found.empty()) return end(&requests[*index], status);
  if (*flag) write(status, {});
  return MPI_SUCCESS;
}

int Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  FAKE_ENTER(Waitany);
  int flag = 0;
  const int rc = Testany(count, requests, index, &flag, status);
  return flag ? rc : deadlock("Waitany");
}

int Testsome(int count, MPI_Request requests[], int* outcount, int indices[], MPI_Status statuses[]) {
  FAKE_ENTER(Testsome);
  bool any = false;
  const auto found = come(count, requests, any);
  *outcount = any ? static_cast<int>(found.size()) : MPI_UNDEFINED;
  int result = MPI_SUCCESS;
  for (std::size_t k = 0; k < found.size(); ++k) {
    indices[k] = found[k];
    auto* status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[k];
    if (end(&requests[found[k]], status, true) != MPI_SUCCESS) result = MPI_ERR_IN_STATUS;
  }
  return result;
}

int Waitsome(int count, MPI_Request requests[], int* outcount, int indices[], MPI_Status statuses[]) {
  FAKE_ENTER(Waitsome);
  const int rc = Testsome(count, requests, outcount, indices, statuses);
  return *outcount == 0 ? deadlock("Waitsome") : rc;
}

int Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  FAKE_ENTER(Request_get_status);
  *flag = ended(request);
  if (!*flag) return MPI_SUCCESS;
  auto* operation = active(request);
  write(status, operation ? operation->outcome : Outcome{});
  if (operation && operation->persistent && habits.forgets_ended_persistent) operation->forgotten = true;
  return MPI_SUCCESS;
}

int Request_free(MPI_Request* request) {
  FAKE_ENTER(Request_free);
  state->operations.erase(*request);
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}

int Cancel(MPI_Request* request) {
  FAKE_ENTER(Cancel);
  auto* operation = active(*request);
  if (!operation || operation->complete) return MPI_SUCCESS;
  const auto withdraw = [&](Packets& packets) {
    return std::erase_if(packets, [&](const auto& packet) { return packet.send.get() == operation; }) != 0;
  };
  const bool gone = operation->send
                        ? withdraw(state->arrived) || withdraw(state->away)
                        : std::erase_if(state->posted, [&](const auto& r) { return r.get() == operation; }) != 0;
  if (gone) operation->complete = operation->outcome.cancelled = true;
  return MPI_SUCCESS;
}

// --- Packing -------------------------------------------------------------------------------------

int Pack(const void* in, int count, MPI_Datatype type, void* out, int room, int* position, MPI_Comm) {
  FAKE_ENTER(Pack);
  const auto data = pack(in, count, type);
  if (static_cast<int>(data.size()) > room - *position) return MPI_ERR_TRUNCATE;
  std::memcpy(static_cast<char*>(out) + *position, data.data(), data.size());
  *position += static_cast<int>(data.size());
  return MPI_SUCCESS;
}

int Unpack(const void* in, int room, int* position, void* out, int count, MPI_Datatype type, MPI_Comm) {
  FAKE_ENTER(Unpack);
  const auto size = count * type_of(type).size;
  if (size > room - *position) return MPI_ERR_TRUNCATE;
  unpack({static_cast<const char*>(in) + *position, static_cast<std::size_t>(size)}, out, count, type);
  *position += static_cast<int>(size);
  return MPI_SUCCESS;
}

// --- Statuses ------------------------------------------------------------------------------------

int Test_cancelled(const MPI_Status* status, int* flag) {
  *flag = cancelled(*status);
  return MPI_SUCCESS;
}

int Status_set_cancelled(MPI_Status* status, int flag) {
  status->count_hi_and_cancelled = (status->count_hi_and_cancelled & ~1) | (flag != 0);
  return MPI_SUCCESS;
}

int Get_elements_x(const MPI_Status* status, MPI_Datatype type, MPI_Count* count) {
  const auto size = type_of(type).size;
  *count = size ? bytes_of(*status) / size : 0;
  return MPI_SUCCESS;
}

int Status_set_elements_x(MPI_Status* status, MPI_Datatype type, MPI_Count count) {
  const auto bytes = static_cast<std::uint64_t>(count * type_of(type).size);
  status->count_lo = static_cast<int>(bytes);
  status->count_hi_and_cancelled = static_cast<int>((bytes >> 32) << 1) | (status->count_hi_and_cancelled & 1);
  return MPI_SUCCESS;
}

// --- Communicators -------------------------------------------------------------------------------

int Init(int*, char***) { return MPI_SUCCESS; }

int Comm_rank(MPI_Comm, int* rank) {
  *rank = 0;
  return MPI_SUCCESS;
}

int Comm_size(MPI_Comm comm, int* size) {
  *size = comm == MPI_COMM_SELF ? 1 : ranks;
  return MPI_SUCCESS;
}

int Query_thread(int* provided) {
  *provided = MPI_THREAD_SINGLE;
  return MPI_SUCCESS;
}

int Get_library_version(char* version, int* length) {
  std::strcpy(version, "MPICH Version: 4.0.2");
  *length = static_cast<int>(std::strlen(version));
  return MPI_SUCCESS;
}

int Comm_test_inter(MPI_Comm, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

int Comm_get_parent(MPI_Comm* parent) {
  *parent = MPI_COMM_NULL;
  return MPI_SUCCESS;
}

int Comm_call_errhandler(MPI_Comm, int code) {
  state->errors.push_back(code);
  return MPI_SUCCESS;
}

int Comm_get_errhandler(MPI_Comm, MPI_Errhandler* handler) {
  *handler = state->handler;
  return MPI_SUCCESS;
}

int Comm_set_errhandler(MPI_Comm, MPI_Errhandler handler) {
  state->handler = handler;
  return MPI_SUCCESS;
}

int Errhandler_free(MPI_Errhandler* handler) {
  *handler = MPI_ERRHANDLER_NULL;
  return MPI_SUCCESS;
}

/// In place of a function that Dunnage asks for and no test of this folder needs.
int not_here() {
  ADD_FAILURE() << "Dunnage called a function that the fake MPI does not have";
  return MPI_ERR_UNSUPPORTED_OPERATION;
}

/// Functions without which Dunnage does.
bool optional(const std::string& name) {
  return name.ends_with("_c") || name.starts_with("Add_error") || name == "Error_string" || name == "Bcast_init" ||
         name == "File_call_errhandler";
}

}  // namespace

void reset() {
  delete state;
  state = new State;
  habits = {};
}

void* find(const char* name) {
#define FAKE(function) \
  { #function, reinterpret_cast < void*>(&function) }
  static const std::unordered_map<std::string, void*> functions{FAKE(Send),
                                                                FAKE(Ssend),
                                                                FAKE(Rsend),
                                                                FAKE(Bsend),
                                                                FAKE(Isend),
                                                                FAKE(Issend),
                                                                FAKE(Irsend),
                                                                FAKE(Ibsend),
                                                                FAKE(Send_init),
                                                                FAKE(Ssend_init),
                                                                FAKE(Rsend_init),
                                                                FAKE(Bsend_init),
                                                                FAKE(Recv),
                                                                FAKE(Irecv),
                                                                FAKE(Recv_init),
                                                                FAKE(Sendrecv),
                                                                FAKE(Sendrecv_replace),
                                                                FAKE(Probe),
                                                                FAKE(Iprobe),
                                                                FAKE(Mprobe),
                                                                FAKE(Improbe),
                                                                FAKE(Mrecv),
                                                                FAKE(Imrecv),
                                                                FAKE(Start),
                                                                FAKE(Startall),
                                                                FAKE(Wait),
                                                                FAKE(Test),
                                                                FAKE(Waitall),
                                                                FAKE(Testall),
                                                                FAKE(Waitany),
                                                                FAKE(Testany),
                                                                FAKE(Waitsome),
                                                                FAKE(Testsome),
                                                                FAKE(Request_get_status),
                                                                FAKE(Request_free),
                                                                FAKE(Cancel),
                                                                FAKE(Test_cancelled),
                                                                FAKE(Status_set_cancelled),
                                                                FAKE(Get_elements_x),
                                                                FAKE(Status_set_elements_x),
                                                                FAKE(Init),
                                                                FAKE(Comm_rank),
                                                                FAKE(Comm_size),
                                                                FAKE(Query_thread),
                                                                FAKE(Get_library_version),
                                                                FAKE(Comm_test_inter),
                                                                FAKE(Comm_get_parent),
                                                                FAKE(Comm_call_errhandler),
                                                                FAKE(Comm_get_errhandler),
                                                                FAKE(Comm_set_errhandler),
                                                                FAKE(Errhandler_free),
                                                                FAKE(Pack),
                                                                FAKE(Unpack),
                                                                FAKE(Type_contiguous),
                                                                FAKE(Type_create_hindexed),
                                                                FAKE(Type_commit),
                                                                FAKE(Type_dup),
                                                                FAKE(Type_free),
                                                                FAKE(Type_size_x),
                                                                FAKE(Type_get_extent_x),
                                                                FAKE(Type_get_true_extent_x),
                                                                FAKE(Type_get_envelope),
                                                                FAKE(Type_get_contents)};
#undef FAKE
  const std::string whole = name;
  const bool own = whole.starts_with("PMPI_");
  if (!own && !whole.starts_with("MPI_")) return nullptr;
  const auto found = functions.find(whole.substr(own ? 5 : 4));
  if (found != functions.end()) return found->second;
  return own && !optional(whole.substr(5)) ? reinterpret_cast<void*>(&not_here) : nullptr;
}

void arrive(int source, int tag, const std::string& data, MPI_Comm comm) { put({source, 0, tag, comm, data, {}}); }

std::vector<Message> taken_by(int dest) {
  std::vector<Message> messages;
  std::erase_if(state->away, [&](auto& packet) {
    if (packet.dest != dest) return false;
    messages.push_back({packet.tag, std::move(packet.data)});
    if (packet.send) packet.send->complete = true;
    return true;
  });
  return messages;
}

void fail(const std::string& function, int code) { state->faults[function] = code; }
int calls(const std::string& function) { return state->calls[function]; }
const void* last_send_buffer() { return state->last_buffer; }
const void* last_receive_buffer() { return state->last_receive_buffer; }
std::int64_t last_send_bytes() { return state->last_bytes; }
std::int64_t now() { return passed += 100; }
void pass(std::int64_t nanoseconds) { passed += nanoseconds; }
bool errors_are_fatal() { return state->handler == MPI_ERRORS_ARE_FATAL; }
std::vector<int> errors() { return std::exchange(state->errors, {}); }
std::size_t requests() { return state->operations.size(); }
std::size_t unreceived() { return state->arrived.size() + state->matched.size(); }

std::int64_t bytes_of(const MPI_Status& status) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(static_cast<unsigned>(status.count_hi_and_cancelled)) >>
                                       1 << 32 |
                                   static_cast<unsigned>(status.count_lo));
}

bool cancelled(const MPI_Status& status) { return status.count_hi_and_cancelled & 1; }

}  // namespace fake
