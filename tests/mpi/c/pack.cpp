// MPI_Pack, MPI_Unpack and MPI_Pack_size, and the life of datatypes: freed, reused, duplicated.
#include "samples.hpp"

namespace pack_contract {

const MPI_Comm comm = MPI_COMM_SELF;

Bytes pack(Region& r, const std::string& what, int lead = 0) {
  Bytes out(lead + r.size() + 16, Region::kPoison);
  int position = lead;
  check_ok(MPI_Pack(r.address, r.count, r.type, out.data(), lead + r.size(), &position, comm), what);
  check_equal(position, lead + r.size(), what + ", position");
  bool clean = true;
  for (int i = 0; i < lead; ++i) clean &= out[i] == Region::kPoison;
  for (int i = 0; i < 16; ++i) clean &= out[lead + r.size() + i] == Region::kPoison;
  check(clean, what + ", nothing written around it");
  return Bytes(out.begin() + lead, out.begin() + lead + r.size());
}

void unpack(Region& r, const Bytes& stream, const std::string& what, int room = 0) {
  Bytes in = stream;
  in.resize(stream.size() + room + 1);
  int position = 0;
  r.poison();
  check_ok(MPI_Unpack(in.data(), int(stream.size()) + room, &position, r.address, r.count, r.type, comm), what);
  check_equal(position, r.size(), what + ", position");
  r.expect(stream, what);
}

// MPICH 4.0 takes MPI_BOTTOM for a missing buffer in MPI_Pack.
bool plain_refuses(Region& r) {
  Bytes out(r.size());
  int position = 0;
  return PMPI_Pack(r.address, r.count, r.type, out.data(), r.size(), &position, comm) != MPI_SUCCESS;
}

void every_type() {
  for (const Sample& sample : samples())
    for (int n : sizes())
      for (int count : {1, 3}) {
        if (n > 10000 && count > 1) continue;
        Region r(sample, n, count);
        const std::string name = std::string(sample.name) + ", n " + std::to_string(n);
        contract().section("pack of " + name);
        if (plain_refuses(r)) {
          contract().quirk("packing at MPI_BOTTOM, which it refuses");
          continue;
        }
        int room = 0;
        check_ok(MPI_Pack_size(r.count, r.type, comm, &room), "pack size of " + name);
        check(room >= r.size(), "pack size suffices for " + name);
        r.fill(n + count);
        const Bytes expected = r.packed();
        check(pack(r, "pack of " + name) == expected, "pack of " + name + ", bytes");
        check(pack(r, "pack of " + name, 5) == expected, "pack of " + name + " at 5, bytes");
        unpack(r, expected, "unpack of " + name);
        unpack(r, expected, "unpack of " + name + " from a longer buffer", 7);
      }
}

// Several things after each other in one buffer, as programs with headers do.
void sequence() {
  Region head(make::contiguous(2, MPI_INT), 1, "header");
  Region body({"vector", [](int n) { return make::vector(n, 2, 5, MPI_DOUBLE); }}, 50);
  Region tail({"struct", [](int n) { return make::structure({1, n}, {4, 16}, {MPI_CHAR, MPI_FLOAT}); }}, 9);
  Region* parts[] = {&head, &body, &tail};
  Bytes buffer(4000), expected;
  int position = 0;
  for (Region* p : parts) {
    p->fill(position + 1);
    const Bytes bytes = p->packed();
    expected.insert(expected.end(), bytes.begin(), bytes.end());
    check_ok(MPI_Pack(p->address, p->count, p->type, buffer.data(), 4000, &position, comm), "sequence of packs");
    check_equal(position, expected.size(), "sequence of packs, position");
  }
  check(std::equal(expected.begin(), expected.end(), buffer.begin()), "sequence of packs, bytes");
  const int end = position;
  position = 0;
  for (Region* p : parts) {
    const Bytes bytes = p->packed();
    p->poison();
    check_ok(MPI_Unpack(buffer.data(), end, &position, p->address, p->count, p->type, comm), "sequence of unpacks");
    p->expect(bytes, "sequence of unpacks");
  }
  check_equal(position, end, "sequence of unpacks, position");
}

// Packed as three elements, unpacked as one and then two.
void partial() {
  const Sample sample = {"vector", [](int n) { return make::vector(n, 1, 3, MPI_INT); }};
  Region whole(sample, 40, 3), one(sample, 40, 1), two(sample, 40, 2);
  whole.fill(3);
  const Bytes stream = whole.packed();
  int position = 0;
  for (Region* r : {&one, &two}) {
    const auto at = stream.begin() + position;
    check_ok(MPI_Unpack(stream.data(), int(stream.size()), &position, r->address, r->count, r->type, comm),
             "partial unpack");
    r->expect(Bytes(at, stream.begin() + position), "partial unpack");
  }
  check_equal(position, stream.size(), "partial unpack, position");
}

int class_of(int code) {
  int cls = MPI_SUCCESS;
  if (code != MPI_SUCCESS) PMPI_Error_class(code, &cls);
  return cls;
}

int handler_calls = 0;
void count_call(MPI_Comm*, int*, ...) { ++handler_calls; }

// Errors are those of the MPI itself, and come through the communicator's error handler.
void errors() {
  MPI_Datatype type = make::vector(10, 1, 2, MPI_DOUBLE);
  Bytes buffer(400), memory(400);
  auto both = [&](const char* what, auto call) {
    int plain = 0, got = 0;
    const int expected = class_of(call(PMPI_Pack, PMPI_Unpack, &plain));
    check_equal(class_of(call(MPI_Pack, MPI_Unpack, &got)), expected, what);
    if (expected == MPI_SUCCESS) check_equal(got, plain, std::string(what) + ", position");
  };
  both("uncommitted type, pack",
       [&](auto p, auto, int* at) { return p(memory.data(), 1, type, buffer.data(), 400, at, comm); });
  both("uncommitted type, unpack",
       [&](auto, auto u, int* at) { return u(buffer.data(), 400, at, memory.data(), 1, type, comm); });
  MPI_Type_commit(&type);
  both("buffer too small, pack",
       [&](auto p, auto, int* at) { return p(memory.data(), 1, type, buffer.data(), 79, at, comm); });
  both("buffer too small behind a position, pack", [&](auto p, auto, int* at) {
    *at = 1;
    return p(memory.data(), 1, type, buffer.data(), 80, at, comm);
  });
  both("buffer too small, unpack",
       [&](auto, auto u, int* at) { return u(buffer.data(), 79, at, memory.data(), 1, type, comm); });
  both("negative count, pack",
       [&](auto p, auto, int* at) { return p(memory.data(), -1, type, buffer.data(), 400, at, comm); });
  both("null type, pack",
       [&](auto p, auto, int* at) { return p(memory.data(), 1, MPI_DATATYPE_NULL, buffer.data(), 400, at, comm); });
  both("zero count, pack", [&](auto p, auto, int* at) {
    *at = 8;
    return p(memory.data(), 0, type, buffer.data(), 400, at, comm);
  });
  both("zero count, unpack", [&](auto, auto u, int* at) {
    *at = 8;
    return u(buffer.data(), 400, at, memory.data(), 0, type, comm);
  });

  MPI_Comm own;
  MPI_Errhandler handler;
  MPI_Comm_dup(comm, &own);
  MPI_Comm_create_errhandler(count_call, &handler);
  MPI_Comm_set_errhandler(own, handler);
  int position = 0;
  PMPI_Pack(memory.data(), 1, type, buffer.data(), 79, &position, own);
  const int plain = handler_calls;
  position = 0;
  MPI_Pack(memory.data(), 1, type, buffer.data(), 79, &position, own);
  check_equal(handler_calls, 2 * plain, "an error reaches the error handler once");
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&own);
  MPI_Type_free(&type);
}

// Types come and go and their handles come back with another meaning.
void recycled_handles() {
  for (int round = 0; round < 300; ++round) {
    const int n = 3 + round % 5;
    MPI_Datatype type;
    switch (round % 4) {
      case 0: type = make::vector(n, 1, 2, MPI_DOUBLE); break;
      case 1: type = make::vector(n, 2, 3, MPI_INT); break;
      case 2: type = make::contiguous(n, MPI_INT); break;
      default: type = make::indexed({1, n, 2}, {0, 3, 40}, MPI_SHORT); break;
    }
    if (round % 7 == 0) {  // made, never used
      MPI_Type_commit(&type);
      MPI_Type_free(&type);
      continue;
    }
    Region r(type, 2, "recycled");
    r.fill(round);
    const Bytes expected = r.packed();
    check(pack(r, "recycled handle") == expected, "recycled handle, pack");
    unpack(r, expected, "recycled handle, unpack");
  }
}

// A type outlives the types it was made of, the type it was duplicated from, and every handle that
// MPI_Type_get_contents gave out for its parts.
void shared_parts() {
  MPI_Datatype column = make::vector(4, 1, 5, MPI_INT);
  MPI_Datatype pair = make::hvector(3, 1, 100, column);
  MPI_Datatype copy = make::duplicate(pair);
  MPI_Type_commit(&column);
  MPI_Type_commit(&pair);

  int numbers[2];
  MPI_Aint address[1];
  MPI_Datatype inner[1];
  MPI_Type_get_contents(pair, 2, 1, 1, numbers, address, inner);
  {
    Region r(make::duplicate(inner[0]), 2, "the type inside");
    r.fill(1);
    check(pack(r, "the type inside") == r.packed(), "the type inside, pack");
  }
  MPI_Type_free(&inner[0]);

  for (const auto& [type, what] : {std::pair{column, "part still in use after its contents handle was freed"},
                                   std::pair{pair, "type whose contents were looked at"}}) {
    Region r(make::contiguous(1, type), 2, what);
    r.fill(2);
    check(pack(r, what) == r.packed(), what);
    Bytes out(r.size());
    int position = 0;
    check_ok(MPI_Pack(r.address, r.count, type, out.data(), r.size(), &position, comm), what);
    check(out == r.packed(), std::string(what) + ", used itself");
  }
  MPI_Type_free(&column);
  MPI_Type_free(&pair);
  Region r(copy, 2, "duplicate of a freed type");
  r.fill(3);
  const Bytes expected = r.packed();
  check(pack(r, "duplicate of a freed type") == expected, "duplicate of a freed type, pack");
  unpack(r, expected, "duplicate of a freed type, unpack");
}

void committed_twice() {
  MPI_Datatype type = make::vector(5, 1, 2, MPI_INT);
  MPI_Type_commit(&type);
  check_ok(MPI_Type_commit(&type), "commit twice");
  MPI_Datatype builtin = MPI_INT;
  check_ok(MPI_Type_commit(&builtin), "commit of a named type");
  Region r(type, 1, "committed twice");
  r.fill(4);
  check(pack(r, "committed twice") == r.packed(), "committed twice, pack");
}

// Large-count forms, of the calls and of the constructors.
void large_count() {
#if MPI_VERSION >= 4
  std::vector<std::pair<const char*, MPI_Datatype>> types;
  MPI_Datatype t;
  const MPI_Count blocks[] = {1, 3, 2}, disps[] = {40, 0, 20}, sizes[] = {6, 7}, sub[] = {3, 1}, starts[] = {2, 4};
  const MPI_Datatype olds[] = {MPI_INT, MPI_SHORT, MPI_CHAR};
  MPI_Type_vector_c(9, 1, 3, MPI_DOUBLE, &t);
  types.push_back({"vector_c", t});
  MPI_Type_create_hvector_c(9, 2, 11, MPI_SHORT, &t);
  types.push_back({"hvector_c", t});
  MPI_Type_indexed_c(3, blocks, disps, MPI_INT, &t);
  types.push_back({"indexed_c", t});
  MPI_Type_create_hindexed_c(3, blocks, disps, MPI_SHORT, &t);
  types.push_back({"hindexed_c", t});
  MPI_Type_create_indexed_block_c(3, 2, disps, MPI_INT, &t);
  types.push_back({"indexed_block_c", t});
  MPI_Type_create_hindexed_block_c(3, 2, disps, MPI_INT, &t);
  types.push_back({"hindexed_block_c", t});
  MPI_Type_create_struct_c(3, blocks, disps, olds, &t);
  types.push_back({"struct_c", t});
  MPI_Type_create_subarray_c(2, sizes, sub, starts, MPI_ORDER_C, MPI_DOUBLE, &t);
  types.push_back({"subarray_c", t});
  MPI_Type_create_resized_c(MPI_INT, -4, 12, &t);
  types.push_back({"resized_c", t});
  for (const auto& [name, type] : types) {
    Region r(type, 3, name);
    r.fill(5);
    const Bytes expected = r.packed();
    check(pack(r, name) == expected, std::string(name) + ", pack");
    unpack(r, expected, std::string(name) + ", unpack");

    Bytes out(r.size() + 3, Region::kPoison);
    MPI_Count position = 2, room = 0;
    r.fill(5);
    check_ok(MPI_Pack_size_c(3, r.type, comm, &room), std::string(name) + ", Pack_size_c");
    check(room >= r.size(), std::string(name) + ", Pack_size_c");
    check_ok(MPI_Pack_c(r.address, 3, r.type, out.data(), MPI_Count(out.size()), &position, comm),
             std::string(name) + ", Pack_c");
    check_equal(position, r.size() + 2, std::string(name) + ", Pack_c position");
    check(std::equal(expected.begin(), expected.end(), out.begin() + 2), std::string(name) + ", Pack_c bytes");
    r.poison();
    position = 2;
    check_ok(MPI_Unpack_c(out.data(), MPI_Count(out.size()), &position, r.address, 3, r.type, comm),
             std::string(name) + ", Unpack_c");
    r.expect(expected, std::string(name) + ", Unpack_c");
  }
#endif
}

CONTRACT_PROGRAM(pack) {
  Contract c("pack", &argc, &argv);
  every_type();
  c.section("sequence");
  sequence();
  partial();
  c.section("errors");
  errors();
  c.section("recycled handles");
  recycled_handles();
  c.section("shared parts");
  shared_parts();
  committed_twice();
  c.section("large count");
  large_count();
  return c.finish();
}

}  // namespace pack_contract
