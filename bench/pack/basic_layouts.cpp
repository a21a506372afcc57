#include "basic_layouts.hpp"

#include "index_lists.hpp"
#include "loops.hpp"
#include "past_caches.hpp"

namespace bench {

namespace {

template <class T>
Layout typed_vector(MPI_Datatype element, int count, int blocklength, int stride) {
  Layout layout;
  layout.buffer_bytes = (size(count - 1) * size(stride) + size(blocklength)) * sizeof(T);
  layout.datatype = [=]() { return Datatype::vector(count, blocklength, stride, element).commit(); };
  if (blocklength == 1)
    set_loops(layout, strided<T>(size(count), size(stride)));
  else
    set_loops(layout, rows<T>({size(blocklength), size(count), 1, size(stride), 0}));
  set_past_caches(layout, size(count), size(blocklength) * sizeof(T), size(stride) * sizeof(T));
  return layout;
}

}  // namespace

Layout vector(Element element, int count, int blocklength, int stride) {
  return element == Element::float32 ? typed_vector<float>(MPI_FLOAT, count, blocklength, stride)
                                     : typed_vector<double>(MPI_DOUBLE, count, blocklength, stride);
}

Layout face(int n, Direction direction, int depth) {
  const int axis = 2 - static_cast<int>(direction);  // subarrays are in C order, so x comes last
  std::vector<int> sizes(3, n), subsizes(3, n), starts(3, 0);
  subsizes[size(axis)] = starts[size(axis)] = depth;

  Layout layout;
  layout.buffer_bytes = size(n) * size(n) * size(n) * sizeof(double);
  layout.datatype = [=]() { return Datatype::subarray(sizes, subsizes, starts, MPI_DOUBLE).commit(); };
  const Box box = {size(subsizes[2]), size(subsizes[1]), size(subsizes[0]), size(n), size(n) * size(n)};
  const std::size_t start = ((size(starts[0]) * size(n) + size(starts[1])) * size(n) + size(starts[2]));
  const auto shifted = [start](auto loop) {
    return [=](auto move, std::byte* user, std::byte* packed) { loop(move, user + start * sizeof(double), packed); };
  };
  if (box.width == 1)
    set_loops(layout, shifted(column<double>(box)));
  else
    set_loops(layout, shifted(rows<double>(box)));
  return layout;
}

Layout byte_box(Description description, int width, int height, int depth) {
  constexpr int pitch = 1024;
  constexpr int plane = 1024 * 1024;

  Layout layout;
  layout.buffer_bytes = size(depth - 1) * plane + size(height - 1) * pitch + size(width);
  set_loops(layout, rows<char>({size(width), size(height), size(depth), pitch, plane}));

  std::vector<MPI_Aint> row_places;
  for (int z = 0; z < depth; ++z)
    for (int y = 0; y < height; ++y) row_places.push_back(static_cast<MPI_Aint>(z) * plane + y * pitch);

  layout.datatype = [=]() -> Datatype {
    switch (description) {
      case Description::vector_hvector_hvector: {
        const Datatype row = Datatype::vector(width, 1, 1, MPI_BYTE);
        return Datatype::hvector(depth, 1, plane, Datatype::hvector(height, 1, pitch, row)).commit();
      }
      case Description::vector_hvector:
        return Datatype::hvector(depth, 1, plane, Datatype::vector(height, width, pitch, MPI_BYTE)).commit();
      case Description::hindexed:
        return Datatype::hindexed(std::vector<int>(row_places.size(), width), row_places, MPI_BYTE).commit();
      case Description::hindexed_block: return Datatype::hindexed_block(width, row_places, MPI_BYTE).commit();
      case Description::subarray:
        return Datatype::subarray({depth, 1024, 1024}, {depth, height, width}, {0, 0, 0}, MPI_BYTE).commit();
    }
    return {};
  };
  return layout;
}

Layout irregular(int count, int blocklength) {
  const int slot = 4 * blocklength;
  const IndexList places = increasing_places(count, slot, blocklength);
  Layout layout;
  layout.buffer_bytes = size(count) * size(slot) * sizeof(double);
  layout.datatype = [=]() { return Datatype::indexed_block(blocklength, *places, MPI_DOUBLE).commit(); };
  if (blocklength == 1)
    set_loops(layout, indexed<double, 1>(places));
  else
    set_loops(layout, indexed<double, 4>(places));
  return layout;
}

Layout structures(int count) {
  struct Record {
    int number;
    double position[2];
    float weight[5];
  };

  Layout layout;
  layout.buffer_bytes = size(count) * sizeof(Record);
  layout.count = count;
  layout.datatype = []() {
    const Datatype fields =
        Datatype::structure({1, 2, 5}, {offsetof(Record, number), offsetof(Record, position), offsetof(Record, weight)},
                            {MPI_INT, MPI_DOUBLE, MPI_FLOAT});
    return Datatype::resized(sizeof(Record), fields).commit();
  };
  set_loops(layout, [count](auto move, std::byte* user, std::byte* packed) {
    auto* record = reinterpret_cast<Record*>(user);
    for (int i = 0; i < count; ++i, ++record) {
      // The packed fields have no padding between them, so they are not aligned.
      move.bytes(&record->number, packed, sizeof record->number);
      packed += sizeof record->number;
      move.bytes(record->position, packed, sizeof record->position);
      packed += sizeof record->position;
      move.bytes(record->weight, packed, sizeof record->weight);
      packed += sizeof record->weight;
    }
  });
  return layout;
}

Layout transpose(int n) {
  Layout layout;
  layout.buffer_bytes = size(n) * size(n) * sizeof(double);
  layout.count = n;
  layout.datatype = [n]() { return Datatype::resized(sizeof(double), Datatype::vector(n, 1, n, MPI_DOUBLE)).commit(); };
  set_loops(layout, column<double>({1, size(n), size(n), size(n), 1}));
  return layout;
}

}  // namespace bench
