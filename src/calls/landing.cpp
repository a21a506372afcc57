#include "calls/landing.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "calls/accept.hpp"
#include "calls/types.hpp"
#ifdef DUNNAGE_CUDA
#include "engine/gpu_pack.hpp"
#endif

namespace dunnage::calls {

using plan::Reason;

Landing Landing::in_place(void* user, std::int64_t count, MPI_Datatype type) {
  Landing landing;
  landing.user_ = static_cast<char*>(user);
  const auto* known = known_type(type);
  if (auto content = on_gpu(user, count, type, known)) {
    landing.capacity_ = content->size();
    landing.content_ = std::move(*content);
    return landing;
  }
  if (known && known->reason() == Reason::contiguous) {
    landing.capacity_ = type::times(count, known->bytes());
    return landing;
  }
  MPI_Count size = 0;
  context->own.Type_size_x(type, &size);
  landing.element_ = std::max<std::int64_t>(size, 1);
  landing.capacity_ = size > std::numeric_limits<std::int64_t>::max() / std::max<std::int64_t>(count, 1) ? std::numeric_limits<std::int64_t>::max() : count * size;
  try {
    if (known && known->reason() == Reason::accelerated) {
      landing.content_ = engine::Content(known->program(count), user);
      return landing;
    }
    if (!known) {  // committed where we could not see it
      landing.content_ = engine::Content(std::make_shared<const pack::Program>(type::layout_of(*decode(type)), count), user);
      return landing;
    }
  } catch (const type::SpecError&) {  // then the MPI's own functions serve
  }
  landing.keep(type);
  return landing;
}

Landing Landing::by_mpi(void* user, std::int64_t count, MPI_Datatype type) {
  Landing landing;
  landing.user_ = static_cast<char*>(user);
  MPI_Count size = 0;
  context->own.Type_size_x(type, &size);
  landing.element_ = std::max<std::int64_t>(size, 1);
  landing.capacity_ = type::times(count, size);
  landing.keep(type);
  return landing;
}

void Landing::keep(MPI_Datatype type) {
  // Not a duplicate, which would call the program's attribute functions.
  if (context->own.Type_contiguous(1, type, &type_) != MPI_SUCCESS || context->own.Type_commit(&type_) != MPI_SUCCESS) throw std::bad_alloc();
}

Landing Landing::staged(const engine::Parcel& parcel, engine::Content content) {
  Landing landing;
  landing.capacity_ = parcel.size;
  landing.content_ = std::move(content);
  landing.parcel_ = &parcel;
  return landing;
}

Landing& Landing::operator=(Landing&& other) noexcept {
  std::swap(user_, other.user_);
  std::swap(capacity_, other.capacity_);
  std::swap(content_, other.content_);
  std::swap(parcel_, other.parcel_);
  std::swap(type_, other.type_);
  std::swap(element_, other.element_);
  std::swap(packed_, other.packed_);
  return *this;
}

Landing::~Landing() {
  if (type_ != MPI_DATATYPE_NULL) context->own.Type_free(&type_);
}

void Landing::read(void* bytes, std::int64_t begin, std::int64_t end) const {
#ifdef DUNNAGE_CUDA
  if (parcel_ && parcel_->on_device())
    return parcel_->each_piece(begin, end, [&](const char* from, std::int64_t b, std::int64_t e) {
      engine::gpu_copy(*device::driver(), static_cast<char*>(bytes) + (b - begin), from, static_cast<std::size_t>(e - b));
    });
#endif
  if (parcel_) return parcel_->read(bytes, begin, end);
  if (content_) return content_.pack(static_cast<char*>(bytes), begin, end);
  if (type_ == MPI_DATATYPE_NULL) {
    std::memcpy(bytes, user_ + begin, static_cast<std::size_t>(end - begin));
    return;
  }
  const auto elements = (end + element_ - 1) / element_;
  std::vector<char> packed(static_cast<std::size_t>(elements * element_));
  int at = 0;
  context->own.Pack(user_, static_cast<int>(elements), type_, packed.data(), static_cast<int>(packed.size()), &at, MPI_COMM_SELF);
  std::memcpy(bytes, packed.data() + begin, static_cast<std::size_t>(end - begin));
}

void Landing::settle(std::int64_t end) {
  if (parcel_) {
    parcel_->deliver(content_, end);
  } else if (type_ != MPI_DATATYPE_NULL) {
    packed_.resize(static_cast<std::size_t>(end));
    read(packed_.data(), 0, end);
  }
}

void Landing::place(const char* from, std::int64_t begin, std::int64_t end) {
  if (content_)
    content_.unpack(from, begin, end);
  else if (type_ == MPI_DATATYPE_NULL)
    std::memcpy(user_ + begin, from, static_cast<std::size_t>(end - begin));
  else
    packed_.insert(packed_.end(), from, from + (end - begin));
}

void Landing::finish() {
  if (packed_.empty()) return;
  int at = 0;
  const auto size = static_cast<std::int64_t>(packed_.size()), elements = (size + element_ - 1) / element_;
  packed_.resize(static_cast<std::size_t>(elements * element_));
  // Of the last element what did not come stays as it is.
  if (size < elements * element_) read(packed_.data() + size, size, elements * element_);
  context->own.Unpack(packed_.data(), static_cast<int>(packed_.size()), &at, user_, static_cast<int>(elements), type_, MPI_COMM_SELF);
}

}  // namespace dunnage::calls
