// The part of CUDA's driver API that Dunnage uses, so that Dunnage is built without a CUDA toolkit:
// types, constants and prototypes. Names, values and layouts are those of CUDA 13.0. If the real
// <cuda.h> is installed, tests/device/cuda_driver_api_test.cpp compares this header with it.
//
// C and C++ can include this header. A file that needs the real <cuda.h> must include <cuda.h>
// first: this header then declares only the table of errors.
#pragma once

// Every error code with its number.
#define DUNNAGE_CUDA_ERRORS(X)                      \
  X(CUDA_SUCCESS, 0)                                \
  X(CUDA_ERROR_INVALID_VALUE, 1)                    \
  X(CUDA_ERROR_OUT_OF_MEMORY, 2)                    \
  X(CUDA_ERROR_NOT_INITIALIZED, 3)                  \
  X(CUDA_ERROR_DEINITIALIZED, 4)                    \
  X(CUDA_ERROR_PROFILER_DISABLED, 5)                \
  X(CUDA_ERROR_PROFILER_NOT_INITIALIZED, 6)         \
  X(CUDA_ERROR_PROFILER_ALREADY_STARTED, 7)         \
  X(CUDA_ERROR_PROFILER_ALREADY_STOPPED, 8)         \
  X(CUDA_ERROR_STUB_LIBRARY, 34)                    \
  X(CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER, 36)      \
  X(CUDA_ERROR_DEVICE_UNAVAILABLE, 46)              \
  X(CUDA_ERROR_NO_DEVICE, 100)                      \
  X(CUDA_ERROR_INVALID_DEVICE, 101)                 \
  X(CUDA_ERROR_DEVICE_NOT_LICENSED, 102)            \
  X(CUDA_ERROR_INVALID_IMAGE, 200)                  \
  X(CUDA_ERROR_INVALID_CONTEXT, 201)                \
  X(CUDA_ERROR_CONTEXT_ALREADY_CURRENT, 202)        \
  X(CUDA_ERROR_MAP_FAILED, 205)                     \
  X(CUDA_ERROR_UNMAP_FAILED, 206)                   \
  X(CUDA_ERROR_ARRAY_IS_MAPPED, 207)                \
  X(CUDA_ERROR_ALREADY_MAPPED, 208)                 \
  X(CUDA_ERROR_NO_BINARY_FOR_GPU, 209)              \
  X(CUDA_ERROR_ALREADY_ACQUIRED, 210)               \
  X(CUDA_ERROR_NOT_MAPPED, 211)                     \
  X(CUDA_ERROR_NOT_MAPPED_AS_ARRAY, 212)            \
  X(CUDA_ERROR_NOT_MAPPED_AS_POINTER, 213)          \
  X(CUDA_ERROR_ECC_UNCORRECTABLE, 214)              \
  X(CUDA_ERROR_UNSUPPORTED_LIMIT, 215)              \
  X(CUDA_ERROR_CONTEXT_ALREADY_IN_USE, 216)         \
  X(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, 217)        \
  X(CUDA_ERROR_INVALID_PTX, 218)                    \
  X(CUDA_ERROR_INVALID_GRAPHICS_CONTEXT, 219)       \
  X(CUDA_ERROR_NVLINK_UNCORRECTABLE, 220)           \
  X(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, 221)         \
  X(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222)        \
  X(CUDA_ERROR_JIT_COMPILATION_DISABLED, 223)       \
  X(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, 224)      \
  X(CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC, 225)       \
  X(CUDA_ERROR_CONTAINED, 226)                      \
  X(CUDA_ERROR_INVALID_SOURCE, 300)                 \
  X(CUDA_ERROR_FILE_NOT_FOUND, 301)                 \
  X(CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, 302) \
  X(CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, 303)      \
  X(CUDA_ERROR_OPERATING_SYSTEM, 304)               \
  X(CUDA_ERROR_INVALID_HANDLE, 400)                 \
  X(CUDA_ERROR_ILLEGAL_STATE, 401)                  \
  X(CUDA_ERROR_LOSSY_QUERY, 402)                    \
  X(CUDA_ERROR_NOT_FOUND, 500)                      \
  X(CUDA_ERROR_NOT_READY, 600)                      \
  X(CUDA_ERROR_ILLEGAL_ADDRESS, 700)                \
  X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701)        \
  X(CUDA_ERROR_LAUNCH_TIMEOUT, 702)                 \
  X(CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING, 703)  \
  X(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, 704)    \
  X(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, 705)        \
  X(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, 708)         \
  X(CUDA_ERROR_CONTEXT_IS_DESTROYED, 709)           \
  X(CUDA_ERROR_ASSERT, 710)                         \
  X(CUDA_ERROR_TOO_MANY_PEERS, 711)                 \
  X(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, 712) \
  X(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, 713)     \
  X(CUDA_ERROR_HARDWARE_STACK_ERROR, 714)           \
  X(CUDA_ERROR_ILLEGAL_INSTRUCTION, 715)            \
  X(CUDA_ERROR_MISALIGNED_ADDRESS, 716)             \
  X(CUDA_ERROR_INVALID_ADDRESS_SPACE, 717)          \
  X(CUDA_ERROR_INVALID_PC, 718)                     \
  X(CUDA_ERROR_LAUNCH_FAILED, 719)                  \
  X(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, 720)   \
  X(CUDA_ERROR_TENSOR_MEMORY_LEAK, 721)             \
  X(CUDA_ERROR_NOT_PERMITTED, 800)                  \
  X(CUDA_ERROR_NOT_SUPPORTED, 801)                  \
  X(CUDA_ERROR_SYSTEM_NOT_READY, 802)               \
  X(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, 803)         \
  X(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, 804) \
  X(CUDA_ERROR_MPS_CONNECTION_FAILED, 805)          \
  X(CUDA_ERROR_MPS_RPC_FAILURE, 806)                \
  X(CUDA_ERROR_MPS_SERVER_NOT_READY, 807)           \
  X(CUDA_ERROR_MPS_MAX_CLIENTS_REACHED, 808)        \
  X(CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED, 809)    \
  X(CUDA_ERROR_MPS_CLIENT_TERMINATED, 810)          \
  X(CUDA_ERROR_CDP_NOT_SUPPORTED, 811)              \
  X(CUDA_ERROR_CDP_VERSION_MISMATCH, 812)           \
  X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 900)     \
  X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, 901)     \
  X(CUDA_ERROR_STREAM_CAPTURE_MERGE, 902)           \
  X(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, 903)       \
  X(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, 904)        \
  X(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, 905)       \
  X(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, 906)        \
  X(CUDA_ERROR_CAPTURED_EVENT, 907)                 \
  X(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, 908)    \
  X(CUDA_ERROR_TIMEOUT, 909)                        \
  X(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, 910)      \
  X(CUDA_ERROR_EXTERNAL_DEVICE, 911)                \
  X(CUDA_ERROR_INVALID_CLUSTER_SIZE, 912)           \
  X(CUDA_ERROR_FUNCTION_NOT_LOADED, 913)            \
  X(CUDA_ERROR_INVALID_RESOURCE_TYPE, 914)          \
  X(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, 915) \
  X(CUDA_ERROR_KEY_ROTATION, 916)                   \
  X(CUDA_ERROR_UNKNOWN, 999)

#ifndef __cuda_cuda_h__  // the include guard of the real <cuda.h>

#include <stddef.h>
#include <stdint.h>

#define CUDA_VERSION 13000  // of the prototypes: 1000 times the major version plus 10 times the minor one

// The driver keeps old versions of its functions for programs that were built earlier. These macros
// choose the versions that CUDA 13.0 declares.
#define cuCtxCreate cuCtxCreate_v4
#define cuCtxDestroy cuCtxDestroy_v2
#define cuCtxPopCurrent cuCtxPopCurrent_v2
#define cuCtxPushCurrent cuCtxPushCurrent_v2
#define cuDeviceGetUuid cuDeviceGetUuid_v2
#define cuDevicePrimaryCtxRelease cuDevicePrimaryCtxRelease_v2
#define cuDevicePrimaryCtxReset cuDevicePrimaryCtxReset_v2
#define cuDevicePrimaryCtxSetFlags cuDevicePrimaryCtxSetFlags_v2
#define cuDeviceTotalMem cuDeviceTotalMem_v2
#define cuEventDestroy cuEventDestroy_v2
#define cuEventElapsedTime cuEventElapsedTime_v2
#define cuGetProcAddress cuGetProcAddress_v2
#define cuGraphAddKernelNode cuGraphAddKernelNode_v2
#define cuGraphExecKernelNodeSetParams cuGraphExecKernelNodeSetParams_v2
#define cuGraphInstantiate cuGraphInstantiateWithFlags
#define cuIpcOpenMemHandle cuIpcOpenMemHandle_v2
#define cuMemAlloc cuMemAlloc_v2
#define cuMemAllocHost cuMemAllocHost_v2
#define cuMemAllocPitch cuMemAllocPitch_v2
#define cuMemFree cuMemFree_v2
#define cuMemGetAddressRange cuMemGetAddressRange_v2
#define cuMemGetInfo cuMemGetInfo_v2
#define cuMemHostGetDevicePointer cuMemHostGetDevicePointer_v2
#define cuMemHostRegister cuMemHostRegister_v2
#define cuMemcpy2DAsync cuMemcpy2DAsync_v2
#define cuMemcpy3D cuMemcpy3D_v2
#define cuMemcpy3DAsync cuMemcpy3DAsync_v2
#define cuMemcpyDtoD cuMemcpyDtoD_v2
#define cuMemcpyDtoDAsync cuMemcpyDtoDAsync_v2
#define cuMemcpyDtoH cuMemcpyDtoH_v2
#define cuMemcpyDtoHAsync cuMemcpyDtoHAsync_v2
#define cuMemcpyHtoD cuMemcpyHtoD_v2
#define cuMemcpyHtoDAsync cuMemcpyHtoDAsync_v2
#define cuMemsetD8 cuMemsetD8_v2
#define cuStreamBatchMemOp cuStreamBatchMemOp_v2
#define cuStreamBeginCapture cuStreamBeginCapture_v2
#define cuStreamDestroy cuStreamDestroy_v2
#define cuStreamWaitValue32 cuStreamWaitValue32_v2
#define cuStreamWaitValue64 cuStreamWaitValue64_v2
#define cuStreamWriteValue32 cuStreamWriteValue32_v2
#define cuStreamWriteValue64 cuStreamWriteValue64_v2

#ifdef __cplusplus
extern "C" {
#endif

typedef int CUdevice;  // the ordinal of a device
typedef unsigned long long CUdeviceptr;
typedef unsigned long long CUmemGenericAllocationHandle;
typedef struct CUarray_st* CUarray;
typedef struct CUctx_st* CUcontext;
typedef struct CUevent_st* CUevent;
typedef struct CUfunc_st* CUfunction;
typedef struct CUgraph_st* CUgraph;
typedef struct CUgraphExec_st* CUgraphExec;
typedef struct CUgraphNode_st* CUgraphNode;
typedef struct CUkern_st* CUkernel;
typedef struct CUmod_st* CUmodule;
typedef struct CUstream_st* CUstream;
// Callers pass a null pointer to this type.
struct CUctxCreateParams_st;
typedef struct CUctxCreateParams_st CUctxCreateParams;
typedef void (*CUhostFn)(void* data);

#define CU_DEVICE_INVALID ((CUdevice)-2)
#define CU_STREAM_LEGACY ((CUstream)0x1)
#define CU_STREAM_PER_THREAD ((CUstream)0x2)
#define CU_MEMHOSTREGISTER_PORTABLE 0x01

typedef enum cudaError_enum {
#define DUNNAGE_CUDA_ERROR(name, code) name = code,
  DUNNAGE_CUDA_ERRORS(DUNNAGE_CUDA_ERROR)
#undef DUNNAGE_CUDA_ERROR
} CUresult;

typedef enum CUdriverProcAddressQueryResult_enum {
  CU_GET_PROC_ADDRESS_SUCCESS = 0,
  CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND = 1,
  CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT = 2,
} CUdriverProcAddressQueryResult;

typedef enum CUdriverProcAddress_flags_enum {
  CU_GET_PROC_ADDRESS_DEFAULT = 0,
  CU_GET_PROC_ADDRESS_LEGACY_STREAM = 1,
  CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM = 2,
} CUdriverProcAddress_flags;

// The attributes that Dunnage asks for or that the simulated device has.
typedef enum CUdevice_attribute_enum {
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X = 2,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y = 3,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z = 4,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y = 6,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z = 7,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
  CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
  CU_DEVICE_ATTRIBUTE_MAX_PITCH = 11,
  CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK = 12,
  CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13,
  CU_DEVICE_ATTRIBUTE_GPU_OVERLAP = 15,
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY = 19,
  CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS = 31,
  CU_DEVICE_ATTRIBUTE_PCI_BUS_ID = 33,
  CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,
  CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37,
  CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
  CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT = 40,
  CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED = 78,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
  CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR = 82,
  CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY = 83,
  CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS = 89,
  CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM = 91,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
  CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED = 99,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR = 106,
  CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115,
  CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS = 122,
  CU_DEVICE_ATTRIBUTE_MPS_ENABLED = 133,
  CU_DEVICE_ATTRIBUTE_MAX = 148,
} CUdevice_attribute;

typedef enum CUpointer_attribute_enum {
  CU_POINTER_ATTRIBUTE_CONTEXT = 1,
  CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
  CU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3,
  CU_POINTER_ATTRIBUTE_HOST_POINTER = 4,
  CU_POINTER_ATTRIBUTE_P2P_TOKENS = 5,
  CU_POINTER_ATTRIBUTE_SYNC_MEMOPS = 6,
  CU_POINTER_ATTRIBUTE_BUFFER_ID = 7,
  CU_POINTER_ATTRIBUTE_IS_MANAGED = 8,
  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
  CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE = 10,
  CU_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11,
  CU_POINTER_ATTRIBUTE_RANGE_SIZE = 12,
  CU_POINTER_ATTRIBUTE_MAPPED = 13,
  CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES = 14,
  CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE = 15,
  CU_POINTER_ATTRIBUTE_ACCESS_FLAGS = 16,
  CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE = 17,
  CU_POINTER_ATTRIBUTE_MAPPING_SIZE = 18,
  CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR = 19,
  CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID = 20,
  CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE = 21,
} CUpointer_attribute;

typedef enum CUfunction_attribute_enum {
  CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
  CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
  CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES = 2,
  CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
  CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
  CU_FUNC_ATTRIBUTE_PTX_VERSION = 5,
  CU_FUNC_ATTRIBUTE_BINARY_VERSION = 6,
  CU_FUNC_ATTRIBUTE_CACHE_MODE_CA = 7,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
  CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 9,
  CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET = 10,
  CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH = 11,
  CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT = 12,
  CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH = 13,
  CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14,
  CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE = 15,
  CU_FUNC_ATTRIBUTE_MAX = 16,
} CUfunction_attribute;

typedef enum CUmemorytype_enum {
  CU_MEMORYTYPE_HOST = 0x01,
  CU_MEMORYTYPE_DEVICE = 0x02,
  CU_MEMORYTYPE_ARRAY = 0x03,
  CU_MEMORYTYPE_UNIFIED = 0x04,
} CUmemorytype;

typedef enum CUmemAttach_flags_enum {
  CU_MEM_ATTACH_GLOBAL = 0x1,
  CU_MEM_ATTACH_HOST = 0x2,
  CU_MEM_ATTACH_SINGLE = 0x4,
} CUmemAttach_flags;

typedef enum CUipcMem_flags_enum {
  CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS = 0x1,
} CUipcMem_flags;

typedef enum CUstream_flags_enum {
  CU_STREAM_DEFAULT = 0x0,
  CU_STREAM_NON_BLOCKING = 0x1,
} CUstream_flags;

typedef enum CUevent_flags_enum {
  CU_EVENT_DEFAULT = 0x0,
  CU_EVENT_BLOCKING_SYNC = 0x1,
  CU_EVENT_DISABLE_TIMING = 0x2,
  CU_EVENT_INTERPROCESS = 0x4,
} CUevent_flags;

typedef enum CUstreamCaptureMode_enum {
  CU_STREAM_CAPTURE_MODE_GLOBAL = 0,
  CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1,
  CU_STREAM_CAPTURE_MODE_RELAXED = 2,
} CUstreamCaptureMode;

typedef enum CUstreamCaptureStatus_enum {
  CU_STREAM_CAPTURE_STATUS_NONE = 0,
  CU_STREAM_CAPTURE_STATUS_ACTIVE = 1,
  CU_STREAM_CAPTURE_STATUS_INVALIDATED = 2,
} CUstreamCaptureStatus;

typedef enum CUstreamWaitValue_flags_enum {
  CU_STREAM_WAIT_VALUE_GEQ = 0x0,
  CU_STREAM_WAIT_VALUE_EQ = 0x1,
  CU_STREAM_WAIT_VALUE_AND = 0x2,
  CU_STREAM_WAIT_VALUE_NOR = 0x3,
  CU_STREAM_WAIT_VALUE_FLUSH = 1 << 30,
} CUstreamWaitValue_flags;

typedef enum CUstreamWriteValue_flags_enum {
  CU_STREAM_WRITE_VALUE_DEFAULT = 0x0,
  CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER = 0x1,
} CUstreamWriteValue_flags;

typedef enum CUstreamBatchMemOpType_enum {
  CU_STREAM_MEM_OP_WAIT_VALUE_32 = 1,
  CU_STREAM_MEM_OP_WRITE_VALUE_32 = 2,
  CU_STREAM_MEM_OP_WAIT_VALUE_64 = 4,
  CU_STREAM_MEM_OP_WRITE_VALUE_64 = 5,
  CU_STREAM_MEM_OP_BARRIER = 6,
  CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES = 3,
} CUstreamBatchMemOpType;

typedef enum CUmemAllocationHandleType_enum {
  CU_MEM_HANDLE_TYPE_NONE = 0x0,
  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 0x1,
  CU_MEM_HANDLE_TYPE_WIN32 = 0x2,
  CU_MEM_HANDLE_TYPE_WIN32_KMT = 0x4,
  CU_MEM_HANDLE_TYPE_FABRIC = 0x8,
  CU_MEM_HANDLE_TYPE_MAX = 0x7FFFFFFF,
} CUmemAllocationHandleType;

typedef enum CUmemAllocationType_enum {
  CU_MEM_ALLOCATION_TYPE_INVALID = 0x0,
  CU_MEM_ALLOCATION_TYPE_PINNED = 0x1,
  CU_MEM_ALLOCATION_TYPE_MANAGED = 0x2,
  CU_MEM_ALLOCATION_TYPE_MAX = 0x7FFFFFFF,
} CUmemAllocationType;

typedef enum CUmemAllocationGranularity_flags_enum {
  CU_MEM_ALLOC_GRANULARITY_MINIMUM = 0x0,
  CU_MEM_ALLOC_GRANULARITY_RECOMMENDED = 0x1,
} CUmemAllocationGranularity_flags;

typedef enum CUmemLocationType_enum {
  CU_MEM_LOCATION_TYPE_INVALID = 0x0,
  CU_MEM_LOCATION_TYPE_NONE = 0x0,
  CU_MEM_LOCATION_TYPE_DEVICE = 0x1,
  CU_MEM_LOCATION_TYPE_HOST = 0x2,
  CU_MEM_LOCATION_TYPE_HOST_NUMA = 0x3,
  CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT = 0x4,
  CU_MEM_LOCATION_TYPE_MAX = 0x7FFFFFFF,
} CUmemLocationType;

typedef enum CUmemAccess_flags_enum {
  CU_MEM_ACCESS_FLAGS_PROT_NONE = 0x0,
  CU_MEM_ACCESS_FLAGS_PROT_READ = 0x1,
  CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 0x3,
  CU_MEM_ACCESS_FLAGS_PROT_MAX = 0x7FFFFFFF,
} CUmemAccess_flags;

// Dunnage passes no such option, so that one name of them is enough.
typedef enum CUjit_option_enum {
  CU_JIT_NUM_OPTIONS = 35,
} CUjit_option;

typedef struct CUuuid_st {
  char bytes[16];
} CUuuid;

typedef struct CUipcMemHandle_st {
  char reserved[64];
} CUipcMemHandle;

typedef struct CUipcEventHandle_st {
  char reserved[64];
} CUipcEventHandle;

typedef struct CUmemLocation_st {
  CUmemLocationType type;
  int id;
} CUmemLocation;

typedef struct CUmemAccessDesc_st {
  CUmemLocation location;
  CUmemAccess_flags flags;
} CUmemAccessDesc;

typedef struct CUmemAllocationProp_st {
  CUmemAllocationType type;
  CUmemAllocationHandleType requestedHandleTypes;
  CUmemLocation location;
  void* win32HandleMetaData;
  struct {
    unsigned char compressionType;
    unsigned char gpuDirectRDMACapable;
    unsigned short usage;
    unsigned char reserved[4];
  } allocFlags;
} CUmemAllocationProp;

// One operation of cuStreamBatchMemOp. The operation tells which member is valid.
typedef union CUstreamBatchMemOpParams_union {
  CUstreamBatchMemOpType operation;
  struct CUstreamMemOpWaitValueParams_st {
    CUstreamBatchMemOpType operation;
    CUdeviceptr address;
    union {
      uint32_t value;
      uint64_t value64;
    };
    unsigned flags;
    CUdeviceptr alias;
  } waitValue;
  struct CUstreamMemOpWriteValueParams_st {
    CUstreamBatchMemOpType operation;
    CUdeviceptr address;
    union {
      uint32_t value;
      uint64_t value64;
    };
    unsigned flags;
    CUdeviceptr alias;
  } writeValue;
  struct CUstreamMemOpFlushRemoteWritesParams_st {
    CUstreamBatchMemOpType operation;
    unsigned flags;
  } flushRemoteWrites;
  struct CUstreamMemOpMemoryBarrierParams_st {
    CUstreamBatchMemOpType operation;
    unsigned flags;
  } memoryBarrier;
  uint64_t pad[6];
} CUstreamBatchMemOpParams;

// A kernel of a graph. Sizes are in blocks, threads and bytes.
typedef struct CUDA_KERNEL_NODE_PARAMS_v2_st {
  CUfunction func;
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  void** kernelParams;
  void** extra;
  CUkernel kern;
  CUcontext ctx;
} CUDA_KERNEL_NODE_PARAMS;

// Offsets, pitches and widths are in bytes, heights and depths in rows and planes.
typedef struct CUDA_MEMCPY2D_st {
  size_t srcXInBytes, srcY;
  CUmemorytype srcMemoryType;
  const void* srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  size_t srcPitch;
  size_t dstXInBytes, dstY;
  CUmemorytype dstMemoryType;
  void* dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  size_t dstPitch;
  size_t WidthInBytes, Height;
} CUDA_MEMCPY2D;

typedef struct CUDA_MEMCPY3D_st {
  size_t srcXInBytes, srcY, srcZ, srcLOD;
  CUmemorytype srcMemoryType;
  const void* srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  void* reserved0;
  size_t srcPitch, srcHeight;
  size_t dstXInBytes, dstY, dstZ, dstLOD;
  CUmemorytype dstMemoryType;
  void* dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  void* reserved1;
  size_t dstPitch, dstHeight;
  size_t WidthInBytes, Height, Depth;
} CUDA_MEMCPY3D;

// The driver itself.
CUresult cuDriverGetVersion(int* version);
CUresult cuGetErrorName(CUresult code, const char** text);
CUresult cuGetErrorString(CUresult code, const char** text);
CUresult cuInit(unsigned flags);
CUresult cuGetProcAddress(const char* name, void** function, int version, uint64_t flags,
                          CUdriverProcAddressQueryResult* result);

// Devices and their primary contexts.
CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer);
CUresult cuDeviceGet(CUdevice* device, int ordinal);
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device);
CUresult cuDeviceGetCount(int* count);
CUresult cuDeviceGetName(char* name, int length, CUdevice device);
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device);
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active);
CUresult cuDevicePrimaryCtxRelease(CUdevice device);
CUresult cuDevicePrimaryCtxReset(CUdevice device);
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device);
CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags);
CUresult cuDeviceTotalMem(size_t* bytes, CUdevice device);

// Contexts.
CUresult cuCtxCreate(CUcontext* context, CUctxCreateParams* parameters, unsigned flags, CUdevice device);
CUresult cuCtxDestroy(CUcontext context);
CUresult cuCtxDisablePeerAccess(CUcontext peer);
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags);
CUresult cuCtxGetCurrent(CUcontext* context);
CUresult cuCtxGetDevice(CUdevice* device);
CUresult cuCtxGetId(CUcontext context, unsigned long long* id);
CUresult cuCtxPopCurrent(CUcontext* context);
CUresult cuCtxPushCurrent(CUcontext context);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuCtxSynchronize(void);

// Memory.
CUresult cuMemAlloc(CUdeviceptr* address, size_t bytes);
CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream);
CUresult cuMemAllocHost(void** memory, size_t bytes);
CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned flags);
CUresult cuMemAllocPitch(CUdeviceptr* address, size_t* pitch, size_t width, size_t height, unsigned element);
CUresult cuMemFree(CUdeviceptr address);
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream);
CUresult cuMemFreeHost(void* memory);
CUresult cuMemGetAddressRange(CUdeviceptr* start, size_t* size, CUdeviceptr address);
CUresult cuMemGetInfo(size_t* free, size_t* total);
CUresult cuMemHostAlloc(void** memory, size_t bytes, unsigned flags);
CUresult cuMemHostGetDevicePointer(CUdeviceptr* address, void* memory, unsigned flags);
CUresult cuMemHostRegister(void* memory, size_t bytes, unsigned flags);
CUresult cuMemHostUnregister(void* memory);
CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr address);
CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** data, CUdeviceptr address);

// Virtual memory.
CUresult cuMemAddressFree(CUdeviceptr address, size_t size);
CUresult cuMemAddressReserve(CUdeviceptr* address, size_t size, size_t alignment, CUdeviceptr wanted,
                             unsigned long long flags);
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size, const CUmemAllocationProp* properties,
                     unsigned long long flags);
CUresult cuMemExportToShareableHandle(void* file, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
                                      unsigned long long flags);
CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr address);
CUresult cuMemGetAllocationGranularity(size_t* unit, const CUmemAllocationProp* properties,
                                       CUmemAllocationGranularity_flags option);
CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties, CUmemGenericAllocationHandle handle);
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* file,
                                        CUmemAllocationHandleType type);
CUresult cuMemMap(CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags);
CUresult cuMemRelease(CUmemGenericAllocationHandle handle);
CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address);
CUresult cuMemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc* access, size_t count);
CUresult cuMemUnmap(CUdeviceptr address, size_t size);

// Memory of other processes.
CUresult cuIpcCloseMemHandle(CUdeviceptr address);
CUresult cuIpcGetEventHandle(CUipcEventHandle* handle, CUevent event);
CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address);
CUresult cuIpcOpenEventHandle(CUevent* event, CUipcEventHandle handle);
CUresult cuIpcOpenMemHandle(CUdeviceptr* address, CUipcMemHandle handle, unsigned flags);

// Copies and fills.
CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes);
CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* rows, CUstream stream);
CUresult cuMemcpy3D(const CUDA_MEMCPY3D* box);
CUresult cuMemcpy3DAsync(const CUDA_MEMCPY3D* box, CUstream stream);
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);
CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes);
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);
CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, size_t bytes);
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream);
CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes);
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream stream);
CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes);
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes,
                           CUstream stream);
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream);
CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, size_t count);
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream);

// Streams, events and captures.
CUresult cuEventCreate(CUevent* event, unsigned flags);
CUresult cuEventDestroy(CUevent event);
CUresult cuEventElapsedTime(float* milliseconds, CUevent from, CUevent to);
CUresult cuEventQuery(CUevent event);
CUresult cuEventRecord(CUevent event, CUstream stream);
CUresult cuEventSynchronize(CUevent event);
CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, size_t count,
                              const CUDA_KERNEL_NODE_PARAMS* params);
CUresult cuGraphCreate(CUgraph* graph, unsigned flags);
CUresult cuGraphDestroy(CUgraph graph);
CUresult cuGraphExecDestroy(CUgraphExec graph);
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec graph, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params);
CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count);
CUresult cuGraphInstantiate(CUgraphExec* made, CUgraph graph, unsigned long long flags);
CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream);
CUresult cuGraphUpload(CUgraphExec graph, CUstream stream);
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data);
CUresult cuStreamBatchMemOp(CUstream stream, unsigned count, CUstreamBatchMemOpParams* operations, unsigned flags);
CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode);
CUresult cuStreamCreate(CUstream* stream, unsigned flags);
CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority);
CUresult cuStreamDestroy(CUstream stream);
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph);
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status);
CUresult cuStreamQuery(CUstream stream);
CUresult cuStreamSynchronize(CUstream stream);
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags);
CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address, uint32_t value, unsigned flags);
CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr address, uint64_t value, unsigned flags);
CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, uint32_t value, unsigned flags);
CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address, uint64_t value, unsigned flags);
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode);

// Kernels.
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function);
CUresult cuFuncLoad(CUfunction function);
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value);
CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void** params,
                        void** extra);
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name);
CUresult cuModuleLoadData(CUmodule* module, const void* image);
CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count, CUjit_option* options, void** values);
CUresult cuModuleUnload(CUmodule module);
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int block_size,
                                                     size_t shared_bytes);
#ifdef __cplusplus
}  // extern "C"
#endif

#endif
