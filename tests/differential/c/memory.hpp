// Memory for the data of one call, with poison around and between its elements.
#pragma once

#include <memory>

#include "../../mpi/c/typemap.hpp"
#include "datatypes.hpp"
#ifdef CONTRACT_GPU
#include "../../mpi/c/cuda_memory.hpp"
#endif

inline unsigned long hash_of(const Bytes& bytes) {  // FNV-1a
  unsigned long h = 14695981039346656037ul;
  for (const unsigned char b : bytes) h = (h ^ b) * 1099511628211ul;
  return h;
}

/// `size` bytes that depend on `seed` alone.
inline Bytes stream_of(unsigned long seed, std::size_t size) {
  Bytes bytes(size);
  unsigned long x = seed * 0x9E3779B97F4A7C15ul + 1;
  for (unsigned char& b : bytes) {
    x = x * 6364136223846793005ul + 1442695040888963407ul;
    b = static_cast<unsigned char>(x >> 56);
  }
  return bytes;
}

/// Host memory, or memory of the simulated device if the program was built for it.
class Place {
 public:
  Place(std::size_t size, const std::string& kind) : host_(size) {
#ifdef CONTRACT_GPU
    static const std::map<std::string, Kind> kinds = {
        {"device", Kind::device}, {"managed", Kind::managed}, {"pinned", Kind::pinned}, {"pool", Kind::pool}};
    if (kinds.count(kind) && !std::getenv("DIFFERENTIAL_HOST"))
      device_ = std::make_unique<CudaMemory>(kinds.at(kind), std::max<std::size_t>(size, 1));
#endif
    (void)kind;
  }
  unsigned char* data() {
#ifdef CONTRACT_GPU
    if (device_) return device_->data();
#endif
    return host_.data();
  }
  void write(const Bytes& bytes) {
    host_ = bytes;
#ifdef CONTRACT_GPU
    if (device_) device_->write(host_.data());
#endif
  }
  Bytes read() const {
#ifdef CONTRACT_GPU
    if (device_) {
      Bytes bytes = device_->read();
      bytes.resize(host_.size());
      return bytes;
    }
#endif
    return host_;
  }

 private:
  Bytes host_;
#ifdef CONTRACT_GPU
  std::unique_ptr<CudaMemory> device_;
#endif
};

/// `elements` of a datatype at some place; `at`: how the call is told where.
class Memory {
 public:
  static constexpr unsigned char poison = 0xA5;

  /// `apart`: bytes of poison around it at least. An MPI may write past a receive that is too
  /// short.
  Memory(const std::string& text, long elements, const std::string& at, const std::string& kind, std::size_t apart = 64)
      : apart_(apart),
        type(text == "null" ? MPI_DATATYPE_NULL : DatatypeText::predefined(text)),
        count(int(elements)),
        null_(at == "null") {
    owned_ = type == MPI_DATATYPE_NULL && text != "null";
    if (owned_) type = DatatypeText::make(text);
    if (type != MPI_DATATYPE_NULL && elements > 0) runs_ = runs_of(typemap(type, elements));
    bounds_ = bounds_of(runs_);
    place_ = std::make_unique<Place>(std::size_t(bounds_.end - bounds_.begin) + 2 * margin(), kind);
    clear();
    address = place_->data() + margin() - bounds_.begin;
    if (at == "bottom" && elements > 0) place_absolutely();
    if (null_) address = nullptr;
  }
  ~Memory() { free_type(); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

 private:
  const std::size_t apart_;

 public:
  MPI_Datatype type;
  int count;
  void* address = nullptr;

  std::size_t size() const { return std::size_t(size_of(runs_)); }
  void free_type() {
    if (owned_ && type != MPI_DATATYPE_NULL) MPI_Type_free(&type);
  }
  void clear() { place_->write(Bytes(whole(), poison)); }
  /// The data that the elements hold is stream_of(seed).
  void fill(unsigned long seed) {
    Bytes bytes(whole(), poison);
    oracle_unpack(runs_, stream_of(seed, size()), origin(bytes));
    place_->write(bytes);
  }
  Bytes packed() const {
    Bytes bytes = place_->read();
    return oracle_pack(runs_, origin(bytes));
  }
  /// Whether all but the first `received` bytes of the data, gaps and margins included, are as they
  /// were.
  bool clean_beyond(std::size_t received) const {
    Bytes bytes = place_->read(), expected(whole(), poison);
    Bytes stream = oracle_pack(runs_, origin(bytes));
    stream.resize(std::min(received, stream.size()));
    oracle_unpack(runs_, stream, origin(expected));
    return bytes == expected;
  }

 private:
  std::size_t margin() const { return apart_ + std::size_t(bounds_.end - bounds_.begin); }
  std::size_t whole() const { return std::size_t(bounds_.end - bounds_.begin) + 2 * margin(); }
  unsigned char* origin(Bytes& bytes) const { return bytes.data() + margin() - bounds_.begin; }

  void place_absolutely() {
    const MPI_Datatype placed = make::hindexed({count}, {reinterpret_cast<MPI_Aint>(address)}, type);
    free_type();
    type = placed;
    owned_ = true;
    count = 1;
    address = MPI_BOTTOM;
    MPI_Type_commit(&type);
  }

  bool owned_ = false, null_;
  Typemap runs_;
  Bounds bounds_;
  std::unique_ptr<Place> place_;
};
