#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include "layout.hpp"

namespace bench {

inline std::size_t size(int n) { return static_cast<std::size_t>(n); }

/// A hand-written loop has one body for both directions. These classes say which way an element
/// moves.
struct Packing {
  template <class T>
  void operator()(T& user, T& packed) const {
    packed = user;
  }
  static void bytes(void* user, void* packed, std::size_t size) { std::memcpy(packed, user, size); }
};

struct Unpacking {
  template <class T>
  void operator()(T& user, T& packed) const {
    user = packed;
  }
  static void bytes(void* user, void* packed, std::size_t size) { std::memcpy(user, packed, size); }
};

/// Sets both directions of `body(move, user, packed)` as the layout's loops.
template <class Body>
void set_loops(Layout& layout, Body body) {
  layout.pack = [body](std::byte* user, std::byte* packed) { body(Packing{}, user, packed); };
  layout.unpack = [body](std::byte* user, std::byte* packed) { body(Unpacking{}, user, packed); };
}

/// One element out of every `stride`.
template <class T>
auto strided(std::size_t count, std::size_t stride) {
  return [=](auto move, std::byte* user, std::byte* packed) {
    T* __restrict u = reinterpret_cast<T*>(user);
    T* __restrict p = reinterpret_cast<T*>(packed);
    for (std::size_t i = 0; i < count; ++i) move(u[i * stride], p[i]);
  };
}

/// A box of rows of `width` elements. It has `height` rows, `pitch` apart, in each of `depth`
/// planes, `plane` apart.
struct Box {
  std::size_t width, height, depth, pitch, plane;
};

template <class T>
auto rows(Box shape) {
  return [shape](auto move, std::byte* user, std::byte* packed) {
    // A local copy: a store of bytes could change a captured one, so the compiler would reload it.
    const Box box = shape;
    T* __restrict u = reinterpret_cast<T*>(user);
    T* __restrict p = reinterpret_cast<T*>(packed);
    for (std::size_t k = 0; k < box.depth; ++k)
      for (std::size_t j = 0; j < box.height; ++j) {
        for (std::size_t i = 0; i < box.width; ++i) move(u[k * box.plane + j * box.pitch + i], p[i]);
        p += box.width;
      }
  };
}

/// A box that is one element wide. Nobody would write its innermost loop.
template <class T>
auto column(Box shape) {
  return [shape](auto move, std::byte* user, std::byte* packed) {
    const Box box = shape;
    T* __restrict u = reinterpret_cast<T*>(user);
    T* __restrict p = reinterpret_cast<T*>(packed);
    for (std::size_t k = 0; k < box.depth; ++k) {
      for (std::size_t j = 0; j < box.height; ++j) move(u[k * box.plane + j * box.pitch], p[j]);
      p += box.height;
    }
  };
}

using IndexList = std::shared_ptr<const std::vector<int>>;

/// Blocks of `width` elements at the places of an index list. The width is known at compile time.
template <class T, int width>
auto indexed(IndexList places) {
  return [places](auto move, std::byte* user, std::byte* packed) {
    T* __restrict u = reinterpret_cast<T*>(user);
    T* __restrict p = reinterpret_cast<T*>(packed);
    const int* __restrict place = places->data();
    const std::size_t count = places->size();
    for (std::size_t i = 0; i < count; ++i)
      for (int w = 0; w < width; ++w) move(u[place[i] + w], p[i * width + w]);
  };
}

}  // namespace bench
