// interpreter LOG SCRIPT...: runs scripts one after the other, on all ranks. Rank R writes what it
// has seen to LOG.R. `--threads` before LOG asks MPI for MPI_THREAD_MULTIPLE.
//
// DIFFERENTIAL_HOST in the environment: device memory is host memory, for plain MPIs.
// DIFFERENTIAL_BREAK=VERB: statements with this verb tell something wrong, for the test of the
// machine itself.
// DIFFERENTIAL_PAUSE=SEED: ranks rest for up to some milliseconds before a statement, now and then.
#include <chrono>
#include <random>
#include <thread>

#include "../../mpi/c/contract.hpp"
#include "collectives.hpp"
#include "completion.hpp"

namespace {

constexpr int script_seconds = 20;

class Rank {
 public:
  Rank(const Script& script, int thread) : script_(script), senders_(script), thread_(thread) {}

  /// Runs this thread's statements among [from, to).
  void run(std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      const Statement& s = script_.statements[i];
      if (!s.is_for(contract().rank, thread_)) continue;
      if (thread_ == 0) contract().section(script_.name + " line " + std::to_string(s.line) + " " + s.verb);
      seen().clear();
      pause();
      if (s.verb == "fork")
        fork(i + 1, to);
      else if (s.verb == "join")
        join();
      else
        execute(s);
      lines_[s.line] = s.verb + sorted(s, seen());
    }
  }
  std::map<int, std::string>& lines() { return lines_; }

 private:
  void fork(std::size_t from, std::size_t to) {
    other_ = std::make_unique<Rank>(script_, 1);
    worker_ = std::thread([this, from, to] { other_->run(from, to); });
  }
  void join() {
    worker_.join();
    lines_.merge(other_->lines());
  }

  /// One statement in three waits: some for microseconds, some until others have surely gone on.
  void pause() {
    static const char* const seed = std::getenv("DIFFERENTIAL_PAUSE");
    if (!seed) return;
    thread_local std::minstd_rand random(static_cast<unsigned>(std::atoi(seed) + 97 * contract().rank + thread_));
    if (random() % 3 != 0) return;
    const auto longest = random() % 2 ? 100 : 4000;
    std::this_thread::sleep_for(std::chrono::microseconds(random() % static_cast<unsigned>(longest)));
  }

  /// The words in an order that does not depend on when each was said. How many calls it takes to
  /// complete some requests depends on timing, so there each word counts once.
  static std::string sorted(const Statement& s, const std::string& text) {
    std::istringstream in(text);
    std::multiset<std::string> words;
    const bool once = s.verb.find("some") != std::string::npos || s.verb.find("any") != std::string::npos;
    for (std::string word; in >> word;)
      if (!once || !words.count(word)) words.insert(word);
    std::string out;
    for (const std::string& word : words) out += " " + word;
    return out;
  }

  void execute(const Statement& s) {
    using Action = void (Rank::*)(const Statement&);
    static const std::map<std::string, Action> actions = {
        {"comm", &Rank::make_comm},
        {"comm_free", &Rank::free_comm},
        {"handler", &Rank::set_handler},
        {"buffer", &Rank::attach},
        {"buffer_detach", &Rank::detach},
        {"send", &Rank::send},
        {"isend", &Rank::begin},
        {"send_init", &Rank::begin},
        {"recv", &Rank::receive},
        {"irecv", &Rank::begin},
        {"recv_init", &Rank::begin},
        {"start", &Rank::start},
        {"sendrecv", &Rank::sendrecv},
        {"sendrecv_replace", &Rank::replace},
        {"probe", &Rank::probe},
        {"iprobe", &Rank::probe},
        {"probe_once", &Rank::probe},
        {"mprobe", &Rank::matched_probe},
        {"improbe", &Rank::matched_probe},
        {"mrecv", &Rank::matched_receive},
        {"imrecv", &Rank::matched_receive},
        {"get_status", &Rank::get_status},
        {"test_once", &Rank::test_once},
        {"cancel", &Rank::cancel},
        {"request_free", &Rank::free_request},
        {"settle", &Rank::settle},
    };
    if (const auto action = actions.find(s.verb); action != actions.end())
      (this->*action->second)(s);
    else if (s.verb.rfind("wait", 0) == 0 || s.verb.rfind("test", 0) == 0)
      Completion(senders_, s, operations_).run();
    else
      Collective(s).run();
    static const char* const broken = std::getenv("DIFFERENTIAL_BREAK");
    if (broken && s.verb == broken) note("broken", 1);
  }

  static void told(int code) { note("code", class_name(code)); }

  // Communicators and their handlers.
  void make_comm(const Statement& s) {
    const MPI_Comm of = communicators().get(s.text("of", "world"));
    const std::string as = s.text("as", "dup");
    MPI_Comm made = MPI_COMM_NULL;
    int rank, ranks;
    PMPI_Comm_rank(of, &rank);
    PMPI_Comm_size(of, &ranks);
    if (as == "dup") told(MPI_Comm_dup(of, &made));
    if (as == "reverse") told(MPI_Comm_split(of, 0, -rank, &made));
    if (as == "ring") {
      const int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
      const int all[] = {left, right};
      told(MPI_Dist_graph_create_adjacent(of, 2, all, MPI_UNWEIGHTED, 2, all, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made));
    }
    communicators().add(s.names.at(0), made);
  }
  void free_comm(const Statement& s) {
    MPI_Comm comm = communicators().get(s.names.at(0));
    communicators().remove(s.names.at(0));
    told(MPI_Comm_free(&comm));
  }
  void set_handler(const Statement& s) {
    static const MPI_Errhandler ours = [] {
      MPI_Errhandler made;
      MPI_Comm_create_errhandler(handler, &made);
      return made;
    }();
    told(MPI_Comm_set_errhandler(communicators().get(s.names.at(0)),
                                 s.names.at(1) == "user" ? ours : MPI_ERRORS_RETURN));
  }

  // The buffer of buffered sends.
  void attach(const Statement& s) {
    buffer_.resize(std::size_t(s.number("bytes")) + MPI_BSEND_OVERHEAD * 64);
    told(MPI_Buffer_attach(buffer_.data(), int(buffer_.size())));
  }
  void detach(const Statement&) {
    void* at = nullptr;
    int size = -1;
    told(MPI_Buffer_detach(&at, &size));
    note("same", at == buffer_.data() && size == int(buffer_.size()));
  }

  // Blocking messages.
  void send(const Statement& s) {
    static const std::map<std::string, decltype(&MPI_Send)> calls = {
        {"standard", MPI_Send}, {"buffered", MPI_Bsend}, {"synchronous", MPI_Ssend}, {"ready", MPI_Rsend}};
    auto data = memory_of(s);
    data->fill(seed_of(s.line, contract().rank, 0));
    told(calls.at(s.text("mode", "standard"))(data->address, data->count, data->type, peer_of(s, "to"), tag_of(s),
                                              comm_of(s)));
  }
  void receive(const Statement& s) {
    auto data = memory_of(s);
    MPI_Status status{};
    const bool ignored = s.text("status") == "ignore";
    const int code = MPI_Recv(data->address, data->count, data->type, peer_of(s, "from"), tag_of(s), comm_of(s),
                              ignored ? MPI_STATUS_IGNORE : &status);
    told(code);
    note("got", received(senders_, s, *data, ignored ? nullptr : &status, code));
  }
  void sendrecv(const Statement& s) {
    auto out = memory_of(s, "s"), in = memory_of(s, "r");
    out->fill(seed_of(s.line, contract().rank, 0));
    MPI_Status status{};
    const int code = MPI_Sendrecv(out->address, out->count, out->type, peer_of(s, "to"), tag_of(s, "stag"), in->address,
                                  in->count, in->type, peer_of(s, "from"), tag_of(s, "rtag"), comm_of(s), &status);
    told(code);
    note("got", received(senders_, s, *in, &status, code));
  }
  void replace(const Statement& s) {
    auto data = memory_of(s);
    data->fill(seed_of(s.line, contract().rank, 0));
    MPI_Status status{};
    const int code = MPI_Sendrecv_replace(data->address, data->count, data->type, peer_of(s, "to"), tag_of(s),
                                          peer_of(s, "from"), tag_of(s), comm_of(s), &status);
    told(code);
    note("got", status.MPI_SOURCE == MPI_PROC_NULL
                    ? envelope(status, data->type) + "," + contents(senders_, *data, data->size())
                    : received(senders_, s, *data, &status, code));
  }

  // Nonblocking and persistent messages.
  void begin(const Statement& s) {
    static const std::map<std::string, decltype(&MPI_Isend)> sends = {
        {"standard", MPI_Isend}, {"buffered", MPI_Ibsend}, {"synchronous", MPI_Issend}, {"ready", MPI_Irsend}};
    static const std::map<std::string, decltype(&MPI_Send_init)> inits = {{"standard", MPI_Send_init},
                                                                          {"buffered", MPI_Bsend_init},
                                                                          {"synchronous", MPI_Ssend_init},
                                                                          {"ready", MPI_Rsend_init}};
    Operation operation;
    operation.begun = &s;
    operation.memory = memory_of(s);
    operation.persistent = s.verb.find("init") != std::string::npos;
    operation.sends = s.verb.find("send") != std::string::npos;
    Memory& m = *operation.memory;
    if (operation.sends) m.fill(seed_of(s.line, contract().rank, 0));
    const int peer = peer_of(s, operation.sends ? "to" : "from"), tag = tag_of(s);
    const std::string mode = s.text("mode", "standard");
    MPI_Request* request = &operation.request;
    int code;
    if (operation.sends)
      code =
          (operation.persistent ? inits : sends).at(mode)(m.address, m.count, m.type, peer, tag, comm_of(s), request);
    else
      code = (operation.persistent ? MPI_Recv_init : MPI_Irecv)(m.address, m.count, m.type, peer, tag, comm_of(s),
                                                                request);
    told(code);
    if (s.text("type_freed") == "at_once") m.free_type();
    operations_[s.names.at(0)] = std::move(operation);
  }
  void start(const Statement& s) {
    std::vector<MPI_Request> requests;
    for (const std::string& name : s.names) {
      Operation& operation = operations_.at(name);
      if (operation.sends)
        operation.memory->fill(seed_of(operation.begun->line, contract().rank, operation.round));
      else
        operation.memory->clear();
      operation.round = (operation.round + 1) % rounds;
      requests.push_back(operation.request);
    }
    told(requests.size() == 1 ? MPI_Start(requests.data()) : MPI_Startall(int(requests.size()), requests.data()));
    for (std::size_t i = 0; i < requests.size(); ++i) operations_.at(s.names[i]).request = requests[i];
  }

  // Probes.
  void probe(const Statement& s) {
    MPI_Status status{};
    int flag = 1, code;
    do {
      code = s.verb == "probe" ? MPI_Probe(peer_of(s, "from"), tag_of(s), comm_of(s), &status)
                               : MPI_Iprobe(peer_of(s, "from"), tag_of(s), comm_of(s), &flag, &status);
      if (!flag) sched_yield();
    } while (code == MPI_SUCCESS && !flag && s.verb != "probe_once");
    told(code);
    note("flag", flag);
    if (code == MPI_SUCCESS && flag) tell_envelope(s, status);
  }
  void tell_envelope(const Statement& s, const MPI_Status& status) {
    MPI_Datatype type = DatatypeText::make(s.text("type", "byte"));
    note("found", envelope(status, type));
    MPI_Type_free(&type);
  }
  void matched_probe(const Statement& s) {
    MPI_Status status{};
    MPI_Message message = MPI_MESSAGE_NULL;
    int flag = 1, code;
    do {
      code = s.verb == "mprobe" ? MPI_Mprobe(peer_of(s, "from"), tag_of(s), comm_of(s), &message, &status)
                                : MPI_Improbe(peer_of(s, "from"), tag_of(s), comm_of(s), &flag, &message, &status);
      if (!flag) sched_yield();
    } while (code == MPI_SUCCESS && !flag);
    told(code);
    tell_envelope(s, status);
    messages_[s.names.at(0)] = message;
  }
  void matched_receive(const Statement& s) {
    auto data = memory_of(s);
    MPI_Message& message = messages_.at(s.text("message"));
    if (s.verb == "mrecv") {
      MPI_Status status{};
      const int code = MPI_Mrecv(data->address, data->count, data->type, &message, &status);
      told(code);
      note("got", received(senders_, s, *data, &status, code));
    } else {
      Operation operation;
      operation.begun = &s;
      told(MPI_Imrecv(data->address, data->count, data->type, &message, &operation.request));
      operation.memory = std::move(data);
      operations_[s.names.at(0)] = std::move(operation);
    }
    note("null", message == MPI_MESSAGE_NULL);
  }

  // Requests.
  void get_status(const Statement& s) {
    Operation& operation = operations_.at(s.names.at(0));
    MPI_Status status{};
    int flag = 0, code;
    do {
      code = MPI_Request_get_status(operation.request, &flag, &status);
      if (!flag) sched_yield();
    } while (code == MPI_SUCCESS && !flag);
    told(code);
    if (code == MPI_SUCCESS && !operation.sends && !operation.truncated())
      note("found", envelope(status, operation.memory->type));
  }
  void test_once(const Statement& s) {
    Operation& operation = operations_.at(s.names.at(0));
    int flag = 0;
    MPI_Status status{};
    told(MPI_Test(&operation.request, &flag, &status));
    note("flag", flag);
  }
  void cancel(const Statement& s) { told(MPI_Cancel(&operations_.at(s.names.at(0)).request)); }
  void free_request(const Statement& s) {
    Operation& operation = operations_.at(s.names.at(0));
    told(MPI_Request_free(&operation.request));
    note("null", operation.request == MPI_REQUEST_NULL);
  }
  /// Waits until a receive whose request was freed has its data.
  void settle(const Statement& s) {
    const Operation& operation = operations_.at(s.names.at(0));
    const auto bytes = std::size_t(operation.begun->number("bytes"));
    std::string now;
    // What other lines send may begin like the poison that lies there until the message comes.
    const auto come = [&] {
      now = contents(senders_, *operation.memory, bytes);
      Bytes data = operation.memory->packed();
      data.resize(std::min(data.size(), bytes));
      const auto is_poison = [](unsigned char byte) { return byte == Memory::poison; };
      return now.find("wrong") == std::string::npos && !std::all_of(data.begin(), data.end(), is_poison);
    };
    for (int i = 0; !come() && i < 100000 && bytes > 0; ++i) {
      int flag;
      MPI_Iprobe(MPI_ANY_SOURCE, 32000, comm_of(s), &flag, MPI_STATUS_IGNORE);
      sched_yield();
    }
    note("got", now);
  }

  const Script& script_;
  const Senders senders_;
  const int thread_;
  std::map<int, std::string> lines_;
  std::map<std::string, Operation> operations_;
  std::map<std::string, MPI_Message> messages_;
  Bytes buffer_;
  std::unique_ptr<Rank> other_;
  std::thread worker_;
};

void run_script(const Script& script, std::FILE* log) {
  alarm(script_seconds);
  communicators().add("world", MPI_COMM_WORLD);
  std::fprintf(log, "== %s\n", script.name.c_str());
  std::fflush(log);
  {
    Rank rank(script, 0);
    rank.run(0, script.statements.size());
    for (const auto& [line, text] : rank.lines()) std::fprintf(log, "%d %s\n", line, text.c_str());
    contract().section(script.name + " end");
    PMPI_Barrier(MPI_COMM_WORLD);
  }
  for (auto& [name, comm] : communicators().all()) {
    if (name == "world") {
      PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
      continue;
    }
    communicators().remove(name);
    MPI_Comm_free(&comm);
  }
  std::fprintf(log, "==\n");
  std::fflush(log);
}

}  // namespace

int main(int argc, char** argv) {
  int first = 1;
  const bool threads = argc > first && std::string(argv[first]) == "--threads";
  if (threads) ++first;
  if (argc < first + 2) {
    std::fprintf(stderr, "usage: interpreter [--threads] LOG SCRIPT...\n");
    return 2;
  }
  const std::string path = argv[first];
  const std::vector<std::string> names(argv + first + 1, argv + argc);
  Contract c("differential", &argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
  std::FILE* log = std::fopen((path + "." + std::to_string(c.rank)).c_str(), "w");
  if (!log) {
    std::fprintf(stderr, "cannot write %s\n", path.c_str());
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  for (const std::string& name : names) run_script(read_script(name), log);
  std::fclose(log);
  alarm(script_seconds);
  return c.finish();
}
