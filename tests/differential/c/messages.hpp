// What the statements about messages share: the operations of a rank, peers, tags, and the words
// for what a receive got.
#pragma once

#include "log.hpp"
#include "memory.hpp"
#include "script.hpp"

struct Operation {
  const Statement* begun = nullptr;
  std::unique_ptr<Memory> memory;
  bool sends = false, persistent = false;
  int round = 0;  // of a persistent operation
  MPI_Request request = MPI_REQUEST_NULL;

  bool truncated() const { return begun->text("wanted") == "truncate"; }
};

inline constexpr int rounds = 4;  // a persistent operation is started this often at most

inline MPI_Comm comm_of(const Statement& s) { return communicators().get(s.text("on", "world")); }

/// A rank of the statement's communicator, from `to=` or `from=`.
inline int peer_of(const Statement& s, const std::string& key) {
  const std::string text = s.text(key);
  if (text == "any") return MPI_ANY_SOURCE;
  if (text == "null") return MPI_PROC_NULL;
  if (text == "bad") return 1000;
  int rank, ranks;
  PMPI_Comm_rank(comm_of(s), &rank);
  PMPI_Comm_size(comm_of(s), &ranks);
  if (text == "next") return (rank + 1) % ranks;
  if (text == "previous") return (rank + ranks - 1) % ranks;
  if (text == "right") return rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
  if (text == "left") return rank > 0 ? rank - 1 : MPI_PROC_NULL;
  return std::stoi(text);
}

inline int tag_of(const Statement& s, const std::string& key = "tag") {
  const std::string text = s.text(key, "0");
  return text == "any" ? MPI_ANY_TAG : text == "bad" ? -7 : std::stoi(text);
}

/// The data of the message that `rank` of MPI_COMM_WORLD sends by the statement on `line`.
inline unsigned long seed_of(int line, int rank, int round) { return (line * 16ul + rank) * 16ul + round; }

inline std::unique_ptr<Memory> memory_of(const Statement& s, const std::string& prefix = "") {
  return std::make_unique<Memory>(s.text(prefix + "type", "byte"), s.number(prefix + "count"), s.text(prefix + "at"),
                                  s.text(prefix + "in"), s.text("wanted") == "truncate" ? 1u << 19 : 64u);
}

/// Names the message that `data` is of: the line that sent it, and the rank if several have that
/// line.
class Senders {
 public:
  explicit Senders(const Script& script) : script_(script) {}

  std::string find(const Bytes& data) const {
    if (data.empty()) return "none";
    for (const Statement& s : script_.statements) {
      if (s.verb.find("send") == std::string::npos) continue;
      for (int rank = std::max(s.rank, 0); rank <= (s.rank < 0 ? 3 : s.rank); ++rank)
        for (int round = 0; round < rounds; ++round)
          if (holds(seed_of(s.line, rank, round), data))
            return "line" + std::to_string(s.line) + (s.rank < 0 ? "." + std::to_string(rank) : "") +
                   (round ? "#" + std::to_string(round) : "");
    }
    return "wrong" + std::to_string(hash_of(data) % 1000000);
  }

 private:
  static bool holds(unsigned long seed, const Bytes& data) {
    const Bytes beginning = stream_of(seed, std::min<std::size_t>(data.size(), 16));
    return std::equal(beginning.begin(), beginning.end(), data.begin()) && stream_of(seed, data.size()) == data;
  }
  const Script& script_;
};

/// The fields of a status that the standard determines, without the data.
inline std::string envelope(const MPI_Status& status, MPI_Datatype type) {
  int count = -1, elements = -1, bytes = -1;
  MPI_Get_count(&status, type, &count);
  MPI_Get_elements(&status, type, &elements);
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  const auto word = [](int value, int special, const char* name) {
    return value == special ? std::string(name) : std::to_string(value);
  };
  return "from:" + word(status.MPI_SOURCE, MPI_PROC_NULL, "null") + ",tag:" + word(status.MPI_TAG, MPI_ANY_TAG, "any") +
         ",count:" + word(count, MPI_UNDEFINED, "undefined") + ",elements:" + std::to_string(elements) +
         ",bytes:" + std::to_string(bytes);
}

/// What lies in the memory of a receive of so many bytes.
inline std::string contents(const Senders& senders, const Memory& memory, std::size_t bytes) {
  Bytes data = memory.packed();
  data.resize(std::min(data.size(), bytes));
  return "data:" + senders.find(data) + ",rest:" + (memory.clean_beyond(bytes) ? "clean" : "touched");
}

/// What a receive of a message with an error leaves behind. What it has put into the elements
/// themselves nobody may rely on.
inline std::string damage(const Memory& memory) {
  return std::string("outside:") + (memory.clean_beyond(memory.size()) ? "clean" : "touched");
}

/// `status`: null if the program ignored it; the statement says then how much there is.
inline std::string received(const Senders& senders, const Statement& s, const Memory& memory, const MPI_Status* status,
                            int code) {
  if (s.text("wanted") == "truncate" || code != MPI_SUCCESS) return damage(memory);
  if (!status) return contents(senders, memory, std::size_t(s.number("bytes")));
  int cancelled = 0, bytes = 0;
  MPI_Test_cancelled(status, &cancelled);
  if (cancelled) return std::string("cancelled,rest:") + (memory.clean_beyond(0) ? "clean" : "touched");
  PMPI_Get_count(status, MPI_BYTE, &bytes);
  return envelope(*status, memory.type == MPI_DATATYPE_NULL ? MPI_BYTE : memory.type) + "," +
         contents(senders, memory, std::size_t(std::max(bytes, 0)));
}
