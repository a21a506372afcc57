// Triggered communication by kernels: a running kernel starts an exchange, marks partitions as
// ready, sees partitions arrive, and waits. docs/reference/api.md describes every call.
//
// The calling threads of a sender copy a partition straight into the receiver's buffer, from layout
// to layout, and then raise a flag in the receiver's memory. Partitions of a few words go into
// cells there (struct dng_stamp). No processor of the host takes part.
//
// CUDA's compiler needs no other header. Another compiler must have been given what this file takes
// from CUDA (sim/device_code.hpp does so), and sees the data structures only without that.
#ifndef DUNNAGE_DEVICE_CUH
#define DUNNAGE_DEVICE_CUH

// What follows is made by DNG_Exchange_device(), and read by the functions below. It is not for
// programs. Programs are compiled with it, so it never changes: another form gets another name.
// Pointers point to memory that kernels reach. Slots are words by which ranks tell each other, 128
// bytes apart. A slot has the number of the latest exchange for which it was raised.

typedef unsigned long long dng_word;

enum {
  dng_slot_stride = 128,
  dng_most_levels = 16,
  dng_most_stamped = 4,  // words of a stamped partition
  dng_nothing = 0,       // a request to MPI_PROC_NULL
  dng_send = 1,
  dng_receive = 2
};

// A value from here on says that the exchange is broken.
static const dng_word dng_broken = (dng_word)1 << 62;

// Where the data of a message are: blocks in a nest of loops.
struct dng_layout {
  char* first;     // the first byte of the message
  dng_word block;  // the words of a block
  int levels;
  int unused;
  dng_word count[dng_most_levels];    // of each loop, the innermost first
  long long stride[dng_most_levels];  // in bytes
};

struct dng_request {
  int kind;
  unsigned word;               // bytes that are moved together
  unsigned partitions;         // of this rank
  unsigned others;             // partitions of the other rank
  dng_word size;               // words of a partition of this rank, if it sends, else bytes
  dng_word other_size;         // bytes of a partition of the sender, if this rank receives
  char* open;                  // if this rank sends: the receiver's word that its buffer may be written
  char* arrived;               // the flags of the sender's partitions, in the receiver's memory
  char* sent;                  // if this rank sends: its own flags of partitions that were sent
  struct dng_layout from, to;  // if this rank sends
};

// How long a kernel waits while nothing looks after it.
struct dng_patience {
  const dng_word* beat;  // a word that changes as long as the host looks after the exchange; or null
  dng_word* gave_up;     // becomes 1 if a kernel has given up
  dng_word limit;        // nanoseconds without a change
};

// Partitions of a few words go by stamped words. Behind a partition's flag, in the receiver's
// memory, lie a word by which one thread claims what has come, and cells of 8 bytes. The sender
// writes each half of a word, together with the lower half of the number of the exchange, into a
// cell. Whoever waits first puts the words into the buffer, and raises the flag. So no fence lies
// between sender and receiver.
struct dng_stamp {           // of a request
  unsigned word;             // bytes of a word: 1, 2, 4 or 8; 0: the partitions are not stamped
  unsigned words;            // of a partition
  struct dng_layout layout;  // of this rank's buffer
};

struct dng_partition {
  unsigned request, partition;  // of the sender
};

struct dng_slots {
  char* first;
  unsigned count;
  unsigned reads;  // whether those who waited read what others have written
};

struct dng_stamps {
  const struct dng_stamp* request;    // of all requests
  const struct dng_partition* comes;  // the stamped partitions that this rank receives
  const struct dng_slots* wait;       // all slots to wait for, but the flags of those
  unsigned comings, waits;
  unsigned buffers;  // whether others write into this rank's buffers
  unsigned unused;
};

struct DNG_Device_s {
  dng_word* epoch;  // the number of the latest exchange that was started
  const struct dng_request* request;
  char* const* open;  // the slots of senders, which are told that this rank's buffers may be written
  char* wait;         // the first slot to wait for
  unsigned requests, opens, waits;
  unsigned stamps;  // bytes from here to a struct dng_stamps; 0: no partition is stamped
  struct dng_patience patience;
};

typedef const struct DNG_Device_s* DNG_Device;

#if defined __CUDACC__ || defined DNG_HOST

#ifdef __CUDACC__
#define DNG_DEVICE_CODE __device__ inline
#define DNG_DEVICE_SHARED_CODE __device__ __noinline__ inline
#define DNG_UNROLL _Pragma("unroll")
#else
#define DNG_DEVICE_CODE inline
#define DNG_DEVICE_SHARED_CODE inline
#define DNG_UNROLL
#endif

namespace dng {
// The linker of device code takes one function of each name. So the name says which form it knows.
inline namespace with_stamps {

#ifdef __CUDACC__
template <class T>
__device__ inline T* at(T* pointer) {
  return pointer;
}
__device__ inline void rest() {}
__device__ inline dng_word now() {
  dng_word time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}
__device__ inline dng_word load_acquire(const char* slot) {
  dng_word value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(slot) : "memory");
  return value;
}
__device__ inline dng_word load_slot(const char* slot) {
  dng_word value;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(slot) : "memory");
  return value;
}
// Orders what this thread has read and written, and what a barrier has made known to it, before the
// stores that follow. A fence takes most of a microsecond, so stores that belong together share it.
__device__ inline void fence() { asm volatile("fence.acq_rel.sys;" : : : "memory"); }
__device__ inline void store_slot(char* slot, dng_word value) {
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" : : "l"(slot), "l"(value) : "memory");
}
// For threads of one device. Unlike a fence, it does not forget what has been read.
__device__ inline void release_on_device(char* slot, dng_word value) {
  asm volatile("st.release.gpu.global.u64 [%0], %1;" : : "l"(slot), "l"(value) : "memory");
}
// Whether the slot had less before. For threads of one device.
__device__ inline bool raise(char* slot, dng_word value) {
  dng_word before;
  asm volatile("atom.relaxed.gpu.global.max.u64 %0, [%1], %2;" : "=l"(before) : "l"(slot), "l"(value) : "memory");
  return before < value;
}
__device__ inline dng_word load_relaxed(const dng_word* word) { return *(const volatile dng_word*)word; }
template <class T>
__device__ inline void store(char* to, T value) {
  *(T*)to = value;
}
#else
using dng_host::at;
using dng_host::fence;
using dng_host::now;
using dng_host::rest;
using dng_host::store;
inline dng_word load_acquire(const char* slot) { return __atomic_load_n((const dng_word*)at(slot), __ATOMIC_ACQUIRE); }
inline dng_word load_slot(const char* slot) { return load_acquire(slot); }
inline void store_slot(char* slot, dng_word value) { __atomic_store_n((dng_word*)at(slot), value, __ATOMIC_RELEASE); }
inline void release_on_device(char* slot, dng_word value) {
  fence();
  store_slot(slot, value);
}
inline bool raise(char* slot, dng_word value) {
  dng_word before = load_slot(slot);
  while (before < value &&
         !__atomic_compare_exchange_n((dng_word*)at(slot), &before, value, true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  return before < value;
}
inline dng_word load_relaxed(const dng_word* word) { return __atomic_load_n(at(word), __ATOMIC_RELAXED); }
#endif

// Which threads make a call together. any() is a barrier too.
struct Thread {
  static DNG_DEVICE_CODE unsigned rank() { return 0; }
  static DNG_DEVICE_CODE unsigned size() { return 1; }
  static DNG_DEVICE_CODE void sync() {}
  static DNG_DEVICE_CODE int any(int value) { return value; }
};
DNG_DEVICE_CODE unsigned rank_in_block() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
struct Warp {
  static DNG_DEVICE_CODE unsigned rank() { return rank_in_block() % 32; }
  static DNG_DEVICE_CODE unsigned size() { return 32; }
  static DNG_DEVICE_CODE void sync() { __syncwarp(); }
  static DNG_DEVICE_CODE int any(int value) {
    __syncwarp();
    return __any_sync(0xffffffffu, value);
  }
};
struct Block {
  static DNG_DEVICE_CODE unsigned rank() { return rank_in_block(); }
  static DNG_DEVICE_CODE unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
  static DNG_DEVICE_CODE void sync() { __syncthreads(); }
  static DNG_DEVICE_CODE int any(int value) { return __syncthreads_or(value); }
};

DNG_DEVICE_CODE bool reached(dng_word value, dng_word epoch) { return (long long)(value - epoch) >= 0; }

// What follows a wait: reads and writes, or writes alone. Stores do not begin before the processor
// knows that the wait has ended, and so need no acquire, which would take half a microsecond.
struct ThenReads {
  static DNG_DEVICE_CODE dng_word look(const char* slot) { return load_acquire(slot); }
};
struct ThenWrites {
  static DNG_DEVICE_CODE dng_word look(const char* slot) { return load_slot(slot); }
};

// Counts the looks of a thread that waits, and gives the exchange up if nobody looks after it.
class Waiter {
 public:
  DNG_DEVICE_CODE explicit Waiter(const dng_patience& patience) : patience_(patience) {}
  // Between two looks. If the exchange is given up, it writes so into the slot: later waits end at
  // once.
  DNG_DEVICE_CODE void rest_at(char* slot) {
    rest();
    if (!patience_.beat || looks_++ % 4096 != 0) return;
    const dng_word latest = load_relaxed(patience_.beat), time = now();
    if (since_ == 0 || latest != beat_) {
      since_ = time;
      beat_ = latest;
    } else if (time - since_ > patience_.limit) {
      store_slot((char*)patience_.gave_up, 1);
      store_slot(slot, dng_broken);
    }
  }

 private:
  const dng_patience& patience_;
  dng_word since_ = 0, beat_ = 0;
  unsigned looks_ = 0;
};

// Returns 0, or 1 if the exchange is broken.
template <class Then>
DNG_DEVICE_CODE int wait_for(char* slot, dng_word epoch, const dng_patience& patience) {
  Waiter waiter(patience);
  dng_word value;
  while (!reached(value = Then::look(slot), epoch)) waiter.rest_at(slot);
  return value >= dng_broken;
}

struct alignas(16) Wide {
  dng_word part[2];
};

// The offset of word i of a message.
template <class Index>
DNG_DEVICE_CODE long long locate(const dng_layout& layout, Index i, unsigned word) {
  if (layout.levels == 0) return (long long)i * word;
  const Index block = (Index)layout.block;
  Index rest = i / block;
  long long offset = (long long)(i - rest * block) * word;
  const int last = layout.levels - 1;
  for (int level = 0; level < last; ++level) {
    const Index count = (Index)layout.count[level], next = rest / count;
    offset += (long long)(rest - next * count) * layout.stride[level];
    rest = next;
  }
  return offset + (long long)rest * layout.stride[last];
}

// The offset of a word whose number needs 64 bits. It is rare, and its divisions are long code.
DNG_DEVICE_SHARED_CODE long long locate_far(const dng_layout& layout, dng_word i, unsigned word) {
  return locate(layout, i, word);
}

// The part of one of `size` threads in moving words [begin, end). Several loads are under way at
// once, because each takes most of a microsecond.
template <class Word, int together, class From, class To>
DNG_DEVICE_CODE void move_words(dng_word begin, dng_word end, dng_word size, From from, To to) {
  for (dng_word i = begin; i < end; i += together * size) {
    Word words[together] = {};
    for (int k = 0; k < together; ++k)
      if (i + k * size < end) words[k] = *(const Word*)from(i + k * size);
    for (int k = 0; k < together; ++k)
      if (i + k * size < end) store(to(i + k * size), words[k]);
  }
}

template <class Word>
struct InPlace {
  char* first;
  DNG_DEVICE_CODE char* operator()(dng_word i) const { return first + i * sizeof(Word); }
};
template <class Word>
struct InNest {
  const dng_layout& layout;
  char* first;
  DNG_DEVICE_CODE char* operator()(dng_word i) const {
    return first + locate(layout, (unsigned)i, (unsigned)sizeof(Word));
  }
};
template <class Word>
struct InLargeNest {
  const dng_layout& layout;
  char* first;
  DNG_DEVICE_CODE char* operator()(dng_word i) const { return first + locate_far(layout, i, (unsigned)sizeof(Word)); }
};

// A partition that is to be moved. What is read here need not be read once the receiver is ready.
struct Move {
  const dng_request* request;
  char *from, *to;
  dng_word begin, end;  // words
  unsigned word;
  bool nests, large;
};
DNG_DEVICE_CODE Move move_of(const dng_request& r, unsigned partition) {
  const dng_word begin = partition * r.size;
  return {&r,
          at(r.from.first),
          at(r.to.first),
          begin,
          begin + r.size,
          r.word,
          r.from.levels + r.to.levels > 0,
          r.size * r.partitions >= (dng_word)1 << 31};
}

template <class Word>
DNG_DEVICE_CODE void move_words(const Move& m, dng_word rank, dng_word size) {
  const dng_request& r = *m.request;
  const dng_word begin = m.begin + rank;
  if (!m.nests)
    move_words<Word, 8>(begin, m.end, size, InPlace<Word>{m.from}, InPlace<Word>{m.to});
  else if (!m.large)
    move_words<Word, 4>(begin, m.end, size, InNest<Word>{r.from, m.from}, InNest<Word>{r.to, m.to});
  else
    move_words<Word, 1>(begin, m.end, size, InLargeNest<Word>{r.from, m.from}, InLargeNest<Word>{r.to, m.to});
}
DNG_DEVICE_SHARED_CODE void move_partition(const Move& m, dng_word rank, dng_word size) {
  switch (m.word) {
    case 1: return move_words<unsigned char>(m, rank, size);
    case 2: return move_words<unsigned short>(m, rank, size);
    case 4: return move_words<unsigned>(m, rank, size);
    case 8: return move_words<dng_word>(m, rank, size);
    default: return move_words<Wide>(m, rank, size);
  }
}

// A word of at most 8 bytes.
DNG_DEVICE_CODE dng_word load_word(const char* from, unsigned word) {
  switch (word) {
    case 1: return *(const unsigned char*)from;
    case 2: return *(const unsigned short*)from;
    case 4: return *(const unsigned*)from;
    default: return *(const dng_word*)from;
  }
}
DNG_DEVICE_CODE void store_word(char* to, dng_word value, unsigned word) {
  switch (word) {
    case 1: return store(to, (unsigned char)value);
    case 2: return store(to, (unsigned short)value);
    case 4: return store(to, (unsigned)value);
    default: return store(to, value);
  }
}

// Moves a partition when the receiver is ready. Returns 0, or 1 if the exchange is broken. If each
// thread has one word at most, the words are read before: a load takes a third of a microsecond.
template <class Scope>
DNG_DEVICE_CODE int move_when_ready(const DNG_Device_s& d, const dng_request& r, unsigned partition, dng_word epoch) {
  const Move move = move_of(r, partition);
  const bool is_short = r.size <= Scope::size() && !move.large;
  const dng_word i = move.begin + Scope::rank();
  const bool has_word = is_short && i < move.end;
  char* to = nullptr;
  Wide value = {};
  Scope::sync();  // others may have written the word
  if (has_word) {
    const char* const from = move.from + locate(r.from, (unsigned)i, r.word);
    if (r.word > 8)
      value = *(const Wide*)from;
    else
      value.part[0] = load_word(from, r.word);
    to = move.to + locate(r.to, (unsigned)i, r.word);
  }
  const int broken = Scope::any(Scope::rank() == 0 ? wait_for<ThenWrites>(r.open, epoch, d.patience) : 0);
  if (broken) return 1;
  if (has_word && r.word > 8)
    store(to, value);
  else if (has_word)
    store_word(to, value.part[0], r.word);
  if (!is_short) move_partition(move, Scope::rank(), Scope::size());
  Scope::sync();
  return 0;
}

// What is to be stored after a fence is read before it: a fence also forgets what has been read.

DNG_DEVICE_CODE const dng_stamps* stamps_of(const DNG_Device_s& d) {
  return d.stamps ? (const dng_stamps*)((const char*)&d + d.stamps) : nullptr;
}

// A stamped partition. What is read here need not be read once the words have come.
struct Stamped {
  const dng_layout* layout;
  char *buffer, *line;  // the flag, the claim and the cells
  bool nests;
  unsigned word, words;
  dng_word begin;
};
// `words` is 0 if the partition is not stamped.
DNG_DEVICE_CODE Stamped stamped(const DNG_Device_s& d, const dng_request& r, unsigned request, unsigned partition) {
  Stamped s{};
  if (const dng_stamps* const all = stamps_of(d)) {
    const dng_stamp& stamp = at(all->request)[request];
    if (stamp.word > 0)
      s = {&stamp.layout,
           at(stamp.layout.first),
           r.arrived + (dng_word)partition * dng_slot_stride,
           stamp.layout.levels > 0,
           stamp.word,
           stamp.words,
           (dng_word)partition * stamp.words};
  }
  return s;
}

DNG_DEVICE_CODE char* place_of(const Stamped& s, unsigned i) {
  const dng_word word = s.begin + i;
  return s.buffer + (s.nests ? locate_far(*s.layout, word, s.word) : (long long)word * s.word);
}
DNG_DEVICE_CODE char* claim_of(const Stamped& s) { return s.line + sizeof(dng_word); }
// A word takes two cells, of which short words need one.
DNG_DEVICE_CODE char* cells_of(const Stamped& s, unsigned i) { return s.line + (2 + 2 * i) * sizeof(dng_word); }

template <class Scope>
DNG_DEVICE_CODE int send_stamped(const DNG_Device_s& d, const dng_request& r, const Stamped& s, unsigned partition,
                                 dng_word epoch) {
  const unsigned rank = Scope::rank(), size = Scope::size();
  char *const open = r.open, *const sent = r.sent + (dng_word)partition * dng_slot_stride;
  dng_word value = 0;
  Scope::sync();  // others may have written the words
  if (rank < s.words) value = load_word(place_of(s, rank), s.word);
  if (Scope::any(rank == 0 ? wait_for<ThenWrites>(open, epoch, d.patience) : 0)) return 1;
  for (unsigned i = rank; i < s.words; i += size) {
    if (i > rank) value = load_word(place_of(s, i), s.word);
    store_slot(cells_of(s, i), epoch << 32 | (unsigned)value);
    if (s.word > 4) store_slot(cells_of(s, i) + sizeof(dng_word), epoch << 32 | value >> 32);
  }
  Scope::sync();  // all words have been read
  if (rank == 0) store_slot(sent, epoch);
  return 0;
}

// Whether all words have come. Then `low` and `high` have their halves, and stamps.
DNG_DEVICE_CODE bool have_come(const Stamped& s, dng_word epoch, dng_word* low, dng_word* high) {
  bool all = true;
  DNG_UNROLL
  for (unsigned i = 0; i < dng_most_stamped; ++i) {
    if (i < s.words) low[i] = load_slot(cells_of(s, i));
    if (i < s.words && s.word > 4) high[i] = load_slot(cells_of(s, i) + sizeof(dng_word));
  }
  DNG_UNROLL
  for (unsigned i = 0; i < dng_most_stamped; ++i) {
    if (i < s.words) all = all && (unsigned)(low[i] >> 32) == (unsigned)epoch;
    if (i < s.words && s.word > 4) all = all && (unsigned)(high[i] >> 32) == (unsigned)epoch;
  }
  return all;
}

// Puts the words of a claimed partition into the buffer, and raises the flag.
DNG_DEVICE_CODE void keep(const Stamped& s, dng_word epoch, const dng_word* low, const dng_word* high) {
  DNG_UNROLL
  for (unsigned i = 0; i < dng_most_stamped; ++i)
    if (i < s.words) store_word(place_of(s, i), (unsigned)low[i] | high[i] << 32, s.word);
  release_on_device(s.line, epoch);
}

// Waits for a stamped partition. Returns 0, or 1 if the exchange is broken. One thread claims the
// words, because the program may change the buffer as soon as it knows of them.
DNG_DEVICE_CODE int take(const Stamped& s, dng_word epoch, const dng_patience& patience) {
  if (!raise(claim_of(s), epoch)) return wait_for<ThenReads>(s.line, epoch, patience);
  Waiter waiter(patience);
  dng_word low[dng_most_stamped] = {}, high[dng_most_stamped] = {};
  // The words are put into the buffer within the loop: other threads may need them before those
  // come for which the rest of the warp waits.
  for (unsigned looks = 1;; ++looks) {
    if (have_come(s, epoch, low, high)) {
      keep(s, epoch, low, high);
      return 0;
    }
    if (looks % 256 == 0 && load_slot(s.line) >= dng_broken) return 1;
    waiter.rest_at(s.line);
  }
}

// Whether a stamped partition is there, or the exchange is broken. Does not wait.
DNG_DEVICE_CODE bool take_if_there(const Stamped& s, dng_word epoch) {
  dng_word low[dng_most_stamped] = {}, high[dng_most_stamped] = {};
  if (!have_come(s, epoch, low, high)) return load_slot(s.line) >= dng_broken;
  if (!raise(claim_of(s), epoch)) return reached(load_acquire(s.line), epoch);
  keep(s, epoch, low, high);
  return true;
}

template <class Scope>
DNG_DEVICE_CODE void start(DNG_Device device) {
  if (!device) return;
  const DNG_Device_s& d = *at(device);
  const dng_stamps* const stamps = stamps_of(d);
  const dng_word epoch = load_relaxed(d.epoch) + 1;
  char* const open = Scope::rank() < d.opens ? at(d.open)[Scope::rank()] : nullptr;
  Scope::sync();  // all have read the number
  if (Scope::rank() == 0) *at(d.epoch) = epoch;
  if (open) {
    if (!stamps || stamps->buffers) fence();
    store_slot(open, epoch);
    for (unsigned i = Scope::rank() + Scope::size(); i < d.opens; i += Scope::size()) store_slot(at(d.open)[i], epoch);
  }
  Scope::sync();
}

template <class Scope>
DNG_DEVICE_CODE int pready(DNG_Device device, int request, int partition) {
  if (!device) return 0;
  const DNG_Device_s& d = *at(device);
  const dng_request& r = at(d.request)[request];
  if (r.kind != dng_send) return 0;
  const dng_word epoch = load_relaxed(d.epoch), flag = (dng_word)partition * dng_slot_stride;
  const Stamped s = stamped(d, r, (unsigned)request, (unsigned)partition);
  if (s.words) return send_stamped<Scope>(d, r, s, (unsigned)partition, epoch);
  char *const arrived = r.arrived + flag, *const sent = r.sent + flag;
  if (move_when_ready<Scope>(d, r, (unsigned)partition, epoch)) return 1;
  if (Scope::rank() == 0) {
    fence();
    store_slot(arrived, epoch);
    store_slot(sent, epoch);
  }
  return 0;
}

// The partitions of the sender that have bytes of one of the receiver's, which may be cut
// otherwise.
DNG_DEVICE_CODE unsigned sender_of(const dng_request& r, dng_word byte) {
  const dng_word partition = r.other_size ? byte / r.other_size : r.others;
  return partition < r.others ? (unsigned)partition : r.others - 1;
}

template <class Scope>
DNG_DEVICE_CODE int parrived(DNG_Device device, int request, int partition) {
  if (!device) return 1;
  const DNG_Device_s& d = *at(device);
  const dng_request& r = at(d.request)[request];
  int missing = 0;
  if (r.kind == dng_receive && r.others > 0) {
    const dng_word epoch = load_relaxed(d.epoch), begin = (dng_word)partition * r.size;
    const unsigned last = sender_of(r, r.size ? begin + r.size - 1 : begin);
    for (unsigned i = sender_of(r, begin) + Scope::rank(); i <= last; i += Scope::size()) {
      const Stamped s = stamped(d, r, (unsigned)request, i);
      missing |=
          s.words ? !take_if_there(s, epoch) : !reached(load_acquire(r.arrived + (dng_word)i * dng_slot_stride), epoch);
    }
  }
  return !Scope::any(missing);
}

// The part of the calling thread in waiting for slots.
template <class Scope>
DNG_DEVICE_CODE int wait_for_slots(const dng_slots& slots, dng_word epoch, const dng_patience& patience) {
  int broken = 0;
  for (unsigned i = Scope::rank(); i < slots.count; i += Scope::size()) {
    char* const slot = slots.first + (dng_word)i * dng_slot_stride;
    broken |= slots.reads ? wait_for<ThenReads>(slot, epoch, patience) : wait_for<ThenWrites>(slot, epoch, patience);
  }
  return broken;
}

template <class Scope>
DNG_DEVICE_CODE int wait(DNG_Device device) {
  if (!device) return 0;
  const DNG_Device_s& d = *at(device);
  const dng_word epoch = load_relaxed(d.epoch);
  const dng_stamps* const stamps = stamps_of(d);
  if (!stamps) return Scope::any(wait_for_slots<Scope>({d.wait, d.waits, 1}, epoch, d.patience));
  int broken = 0;
  const unsigned comings = stamps->comings, waits = stamps->waits;
  for (unsigned i = Scope::rank(); i < comings; i += Scope::size()) {
    const dng_partition p = at(stamps->comes)[i];
    broken |= take(stamped(d, at(d.request)[p.request], p.request, p.partition), epoch, d.patience);
  }
  for (unsigned i = 0; i < waits; ++i) {
    const dng_slots slots = at(stamps->wait)[i];
    broken |= wait_for_slots<Scope>(slots, epoch, d.patience);
  }
  return Scope::any(broken);
}

}  // namespace with_stamps
}  // namespace dng

// Starts the exchange. One thread, one warp, or one block calls it.
static DNG_DEVICE_CODE void dng_start(DNG_Device exchange) { dng::start<dng::Thread>(exchange); }
static DNG_DEVICE_CODE void dng_start_warp(DNG_Device exchange) { dng::start<dng::Warp>(exchange); }
static DNG_DEVICE_CODE void dng_start_block(DNG_Device exchange) { dng::start<dng::Block>(exchange); }

// Sends a partition of a request. `request` is the request's place in the array that DNG_Match was
// given. Returns 0, or 1 if the exchange is broken.
static DNG_DEVICE_CODE int dng_pready(DNG_Device exchange, int request, int partition) {
  return dng::pready<dng::Thread>(exchange, request, partition);
}
static DNG_DEVICE_CODE int dng_pready_warp(DNG_Device exchange, int request, int partition) {
  return dng::pready<dng::Warp>(exchange, request, partition);
}
static DNG_DEVICE_CODE int dng_pready_block(DNG_Device exchange, int request, int partition) {
  return dng::pready<dng::Block>(exchange, request, partition);
}

// Whether a partition of a request has arrived, for the calling threads. 1 if the exchange is
// broken too.
static DNG_DEVICE_CODE int dng_parrived(DNG_Device exchange, int request, int partition) {
  return dng::parrived<dng::Thread>(exchange, request, partition);
}
static DNG_DEVICE_CODE int dng_parrived_warp(DNG_Device exchange, int request, int partition) {
  return dng::parrived<dng::Warp>(exchange, request, partition);
}
static DNG_DEVICE_CODE int dng_parrived_block(DNG_Device exchange, int request, int partition) {
  return dng::parrived<dng::Block>(exchange, request, partition);
}

// Waits until all partitions of all requests were sent and have arrived. Returns 0, or 1 if the
// exchange is broken.
static DNG_DEVICE_CODE int dng_wait(DNG_Device exchange) { return dng::wait<dng::Thread>(exchange); }
static DNG_DEVICE_CODE int dng_wait_warp(DNG_Device exchange) { return dng::wait<dng::Warp>(exchange); }
static DNG_DEVICE_CODE int dng_wait_block(DNG_Device exchange) { return dng::wait<dng::Block>(exchange); }

#endif

#endif
