#include "noncontiguous_send/schemes.hpp"

namespace bench {

namespace {

constexpr int ping_tag = 0, pong_tag = 1;
// Room for the MPI's own data in an attached buffer.
constexpr std::size_t spare = (MPI_BSEND_OVERHEAD + 4096) / sizeof(double);

/// The datatype and count by which each side describes its data.
struct Words {
  MPI_Datatype type;
  int count;
};

Words words(const Payload& p, Shape shape) {
  return shape == Shape::strided ? Words{p.vector, 1} : Words{MPI_DOUBLE, p.count};
}

/// A message from rank 0 to rank 1, and an empty message back.
class TwoSided : public Exchange {
 public:
  TwoSided(const Payload& p, const Functions& f, Shape taken = Shape::contiguous)
      : Exchange(p, f), taken_(words(p, taken)) {}

  void run() final {
    if (payload.rank == 0) {
      send();
      mpi.recv(nullptr, 0, MPI_BYTE, 1, pong_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      mpi.recv(payload.to.data(), taken_.count, taken_.type, 0, ping_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      mpi.send(nullptr, 0, MPI_BYTE, 0, pong_tag, MPI_COMM_WORLD);
    }
  }

 protected:
  virtual void send() = 0;
  void send_packed(int bytes) const { mpi.send(payload.packed.data(), bytes, MPI_PACKED, 1, ping_tag, MPI_COMM_WORLD); }
  int packed_bytes() const { return payload.count * static_cast<int>(sizeof(double)); }

 private:
  const Words taken_;
};

class Typed : public TwoSided {
 public:
  Typed(const Payload& p, const Functions& f, Words sent, Shape taken) : TwoSided(p, f, taken), sent_(sent) {}

 private:
  void send() final { mpi.send(payload.from.data(), sent_.count, sent_.type, 1, ping_tag, MPI_COMM_WORLD); }
  const Words sent_;
};

template <Shape sent, Shape taken>
std::unique_ptr<Exchange> typed(const Payload& p, const Functions& f) {
  return std::make_unique<Typed>(p, f, words(p, sent), taken);
}

std::unique_ptr<Exchange> subarray(const Payload& p, const Functions& f) {
  return std::make_unique<Typed>(p, f, Words{p.subarray, 1}, Shape::contiguous);
}

template <class E>
std::unique_ptr<Exchange> simple(const Payload& p, const Functions& f) {
  return std::make_unique<E>(p, f);
}

class Copying : public TwoSided {
  using TwoSided::TwoSided;
  void send() final {
    const double* const from = payload.from.data();
    double* const packed = payload.packed.data();
    for (int i = 0; i < payload.count; ++i) packed[i] = from[2 * static_cast<std::ptrdiff_t>(i)];
    mpi.send(packed, payload.count, MPI_DOUBLE, 1, ping_tag, MPI_COMM_WORLD);
  }
};

/// The buffer is attached for one exchange at a time, so that it always belongs to the functions
/// that are measured.
class Buffered : public TwoSided {
  using TwoSided::TwoSided;
  void before() final {
    const Array& buffer = payload.attached;
    if (payload.rank == 0) mpi.buffer_attach(buffer.data(), static_cast<int>(buffer.size() * sizeof(double)));
  }
  void send() final { mpi.bsend(payload.from.data(), 1, payload.vector, 1, ping_tag, MPI_COMM_WORLD); }
  void after() final {
    void* buffer;
    int size;
    if (payload.rank == 0) mpi.buffer_detach(&buffer, &size);
  }
};

class PackedByElement : public TwoSided {
  using TwoSided::TwoSided;
  void send() final {
    int position = 0;
    for (int i = 0; i < payload.count; ++i)
      mpi.pack(payload.from.data() + 2 * static_cast<std::ptrdiff_t>(i), 1, MPI_DOUBLE, payload.packed.data(),
               packed_bytes(), &position, MPI_COMM_WORLD);
    send_packed(position);
  }
};

class PackedVector : public TwoSided {
  using TwoSided::TwoSided;
  void send() final {
    int position = 0;
    mpi.pack(payload.from.data(), 1, payload.vector, payload.packed.data(), packed_bytes(), &position, MPI_COMM_WORLD);
    send_packed(position);
  }
};

class Nonblocking : public TwoSided {
  using TwoSided::TwoSided;
  void send() final {
    MPI_Request request;
    mpi.isend(payload.from.data(), 1, payload.vector, 1, ping_tag, MPI_COMM_WORLD, &request);
    mpi.wait(&request, MPI_STATUS_IGNORE);
  }
};

class Persistent : public TwoSided {
 public:
  Persistent(const Payload& p, const Functions& f) : TwoSided(p, f) {
    if (p.rank == 0) mpi.send_init(p.from.data(), 1, p.vector, 1, ping_tag, MPI_COMM_WORLD, &request_);
  }
  ~Persistent() override {
    if (payload.rank == 0) mpi.request_free(&request_);
  }

 private:
  void send() final {
    mpi.start(&request_);
    mpi.wait(&request_, MPI_STATUS_IGNORE);
  }
  MPI_Request request_;
};

/// There is no answer. The fences are timed instead.
class OneSided : public Exchange {
 public:
  OneSided(const Payload& p, const Functions& f) : Exchange(p, f) {
    const auto bytes = p.rank == 1 ? static_cast<MPI_Aint>(p.to.size() * sizeof(double)) : 0;
    mpi.win_create(p.to.data(), bytes, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &window_);
    mpi.win_fence(0, window_);
  }
  ~OneSided() override { mpi.win_free(&window_); }

 private:
  void run() final {
    mpi.win_fence(0, window_);
    if (payload.rank == 0) mpi.put(payload.from.data(), 1, payload.vector, 1, 0, payload.count, MPI_DOUBLE, window_);
    mpi.win_fence(0, window_);
  }
  MPI_Win window_;
};

}  // namespace

Payload::Payload(int r, int n)
    : rank(r),
      count(n),
      from(r == 0 ? 2 * std::size_t(n) : 0),
      to(r == 1 ? 2 * std::size_t(n) : 0),
      packed(r == 0 ? std::size_t(n) : 0),
      attached(r == 0 ? std::size_t(n) + spare : 0) {
  MPI_Type_vector(n, 1, 2, MPI_DOUBLE, &vector);
  MPI_Type_commit(&vector);
  const int sizes[] = {n, 2}, subsizes[] = {n, 1}, starts[] = {0, 0};
  MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &subarray);
  MPI_Type_commit(&subarray);
}

Payload::~Payload() {
  MPI_Type_free(&vector);
  MPI_Type_free(&subarray);
}

const std::vector<Scheme>& schemes() {
  constexpr Shape contiguous = Shape::contiguous, strided = Shape::strided;
  static const std::vector<Scheme> all = {
      {"contiguous", contiguous, contiguous, typed<contiguous, contiguous>},
      {"copying", strided, contiguous, simple<Copying>},
      {"vector type", strided, contiguous, typed<strided, contiguous>},
      {"subarray", strided, contiguous, subarray},
      {"buffered", strided, contiguous, simple<Buffered>},
      {"one-sided", strided, contiguous, simple<OneSided>, Effort::one_sided},
      {"packing(e)", strided, contiguous, simple<PackedByElement>, Effort::by_element},
      {"packing(v)", strided, contiguous, simple<PackedVector>},
      {"both strided", strided, strided, typed<strided, strided>},
      {"strided receive", contiguous, strided, typed<contiguous, strided>},
      {"persistent", strided, contiguous, simple<Persistent>},
      {"isend", strided, contiguous, simple<Nonblocking>},
  };
  return all;
}

}  // namespace bench
