// Device memory for a Fortran program, by CUDA's driver. device.F90 declares the functions. The
// driver is opened when the program runs, so the program also starts where there is none.
//
// An error ends the program, because no step can go on without the GPU. A Fortran compiler links
// this file, so it uses nothing of C++'s own library.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "shape.hpp"

#define DRIVER_FUNCTIONS(X)   \
  X(cuInit)                   \
  X(cuGetErrorName)           \
  X(cuDeviceGetCount)         \
  X(cuDeviceGet)              \
  X(cuDevicePrimaryCtxRetain) \
  X(cuCtxSetCurrent)          \
  X(cuCtxSynchronize)         \
  X(cuStreamCreate)           \
  X(cuStreamSynchronize)      \
  X(cuStreamBeginCapture)     \
  X(cuStreamEndCapture)       \
  X(cuGraphInstantiate)       \
  X(cuGraphDestroy)           \
  X(cuGraphLaunch)            \
  X(cuGraphExecDestroy)       \
  X(cuMemAlloc)               \
  X(cuMemFree)                \
  X(cuMemHostRegister)        \
  X(cuMemHostUnregister)      \
  X(cuMemcpyDtoH)             \
  X(cuMemcpyHtoD)             \
  X(cuMemcpy3DAsync)          \
  X(cuModuleLoadData)         \
  X(cuModuleGetFunction)      \
  X(cuLaunchKernel)

#include "../../common/driver_table.hpp"

/// The compiled kernels.cu (image.S).
extern "C" const char higrad_image[];

using higrad::Box;
using higrad::Shape;

namespace {

CUstream stream;
CUmodule module;
CUfunction advance, pack, unpack, send;
constexpr unsigned threads = 128, most_blocks = 4096;

[[noreturn]] void fail(const char* what, const char* why = "") {
  std::fprintf(stderr, "higrad: %s%s\n", what, why);
  std::exit(3);
}

void check(CUresult result, const char* function) {
  if (result == CUDA_SUCCESS) return;
  const char* name = "an unknown error";
  driver.cuGetErrorName(result, &name);
  std::fprintf(stderr, "higrad: %s gave %s\n", function, name);
  std::exit(3);
}

#define CALL(name, ...) check(driver.name(__VA_ARGS__), #name)

void open_driver() {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) fail("cannot open CUDA's driver library libcuda.so.1");
  if (const char* const missing = fill_driver_table(library))
    fail("libcuda.so.1 is too old for the GPU functions: it has no ", missing);
}

CUdeviceptr address(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }

unsigned blocks_for(unsigned cells) { return (cells + threads - 1) / threads; }

void launch_on_box(CUfunction kernel, const Shape& shape, const Box& box, const void* from, const void* to) {
  Shape shape_copy = shape;
  Box box_copy = box;
  CUdeviceptr source = address(from), target = address(to);
  void* parameters[] = {&shape_copy, &box_copy, &source, &target};
  const auto cells = static_cast<unsigned>(box.length[0] * box.length[1] * box.length[2]);
  const unsigned blocks = blocks_for(cells) < most_blocks ? blocks_for(cells) : most_blocks;
  CALL(cuLaunchKernel, kernel, blocks, static_cast<unsigned>(shape.variables), 1, threads, 1, 1, 0, stream, parameters,
       nullptr);
}

/// Describes the copy of a box of one variable between two meshes of the same shape. The caller
/// adds where these are.
CUDA_MEMCPY3D copy_of(const Shape& shape, const Box& box, int variable) {
  const auto side = [&](int d) { return static_cast<size_t>(shape.cells[d] + 2 * shape.ghost); };
  CUDA_MEMCPY3D copy{};
  copy.srcXInBytes = copy.dstXInBytes = static_cast<size_t>(box.first[0]) * sizeof(double);
  copy.srcY = copy.dstY = static_cast<size_t>(box.first[1]);
  copy.srcZ = copy.dstZ = static_cast<size_t>(variable) * side(2) + static_cast<size_t>(box.first[2]);
  copy.srcPitch = copy.dstPitch = side(0) * sizeof(double);
  copy.srcHeight = copy.dstHeight = side(1);
  copy.WidthInBytes = static_cast<size_t>(box.length[0]) * sizeof(double);
  copy.Height = static_cast<size_t>(box.length[1]);
  copy.Depth = static_cast<size_t>(box.length[2]);
  return copy;
}

}  // namespace

extern "C" {

void higrad_open(int rank) {
  open_driver();
  int devices = 0;
  if (driver.cuInit(0) != CUDA_SUCCESS || driver.cuDeviceGetCount(&devices) != CUDA_SUCCESS || devices == 0)
    fail("CUDA's driver libcuda.so.1 finds no GPU");
  CUdevice device;
  CUcontext context;
  CALL(cuDeviceGet, &device, rank % devices);
  CALL(cuDevicePrimaryCtxRetain, &context, device);
  CALL(cuCtxSetCurrent, context);
  CALL(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  const CUresult loaded = driver.cuModuleLoadData(&module, higrad_image);
  if (loaded != CUDA_SUCCESS && !*higrad_image)
    fail("there are no kernels in this program, because it was built without CUDA's compiler");
  check(loaded, "cuModuleLoadData");
  CALL(cuModuleGetFunction, &advance, module, "higrad_advance");
  CALL(cuModuleGetFunction, &pack, module, "higrad_pack");
  CALL(cuModuleGetFunction, &unpack, module, "higrad_unpack");
}

void* higrad_allocate(size_t bytes) {
  CUdeviceptr memory = 0;
  CALL(cuMemAlloc, &memory, bytes);
  return reinterpret_cast<void*>(memory);
}

void higrad_free(void* memory) { CALL(cuMemFree, address(memory)); }
void higrad_pin(void* memory, size_t bytes) { CALL(cuMemHostRegister, memory, bytes, 0); }
void higrad_unpin(void* memory) { CALL(cuMemHostUnregister, memory); }
void higrad_wait() { CALL(cuStreamSynchronize, stream); }
void* higrad_stream() { return stream; }

void higrad_upload(void* to, const void* from, size_t bytes) {
  CALL(cuMemcpyHtoD, address(to), from, bytes);
  CALL(cuCtxSynchronize);  // the copy may return before the bytes are there, and our stream would overtake it
}

void higrad_download(void* to, const void* from, size_t bytes) { CALL(cuMemcpyDtoH, to, address(from), bytes); }

void higrad_begin_advance(const Shape* shape, const void* from, const void* to) {
  Shape copy = *shape;
  CUdeviceptr source = address(from), target = address(to);
  void* parameters[] = {&copy, &source, &target};
  CALL(cuLaunchKernel, advance, blocks_for(static_cast<unsigned>(shape->cells[0])),
       static_cast<unsigned>(shape->cells[1]), static_cast<unsigned>(shape->cells[2] * shape->variables), threads, 1, 1,
       0, stream, parameters, nullptr);
}

void higrad_begin_pack(const Shape* shape, const Box* box, const void* cells, const void* buffer) {
  launch_on_box(pack, *shape, *box, cells, buffer);
}

void higrad_begin_unpack(const Shape* shape, const Box* box, const void* buffer, const void* cells) {
  launch_on_box(unpack, *shape, *box, buffer, cells);
}

void higrad_begin_copy_out(const Shape* shape, const Box* box, const void* from, void* to) {
  for (int v = 0; v < shape->variables; ++v) {
    auto copy = copy_of(*shape, *box, v);
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = address(from);
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = to;
    CALL(cuMemcpy3DAsync, &copy, stream);
  }
}

void higrad_begin_copy_in(const Shape* shape, const Box* box, const void* from, const void* to) {
  for (int v = 0; v < shape->variables; ++v) {
    auto copy = copy_of(*shape, *box, v);
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = from;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = address(to);
    CALL(cuMemcpy3DAsync, &copy, stream);
  }
}

void higrad_begin_capture() { CALL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL); }

void* higrad_end_capture() {
  CUgraph graph;
  CUgraphExec made;
  CALL(cuStreamEndCapture, stream, &graph);
  CALL(cuGraphInstantiate, &made, graph, 0);
  CALL(cuGraphDestroy, graph);
  return made;
}

void higrad_begin_graph(void* graph) { CALL(cuGraphLaunch, static_cast<CUgraphExec>(graph), stream); }
void higrad_free_graph(void* graph) { CALL(cuGraphExecDestroy, static_cast<CUgraphExec>(graph)); }

void higrad_begin_send(const void* exchange, int variables) {
  constexpr unsigned ends = 2;
  void* parameters[] = {&exchange, &variables};
  CALL(cuLaunchKernel, send, ends * static_cast<unsigned>(variables), 1, 1, threads, 1, 1, 0, stream, parameters,
       nullptr);
}

void higrad_prepare_send() {
  CALL(cuModuleGetFunction, &send, module, "higrad_send");
  // The first launch of a kernel may wait until all kernels that run have ended. So it is done
  // here, without an exchange.
  higrad_begin_send(nullptr, 1);
  higrad_wait();
}

}  // extern "C"
