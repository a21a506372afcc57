/* A tool as NVTX loads it (NVTX_INJECTION64_PATH): writes the ranges that it is told of to the file
   in NVTX_TOOL_OUTPUT. */
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>

static FILE* out;
static int depth;
static struct nvtxDomainRegistration_st* const domain = (void*)1;

static nvtxDomainHandle_t create(const char* name) {
  fprintf(out, "domain %s\n", name);
  fflush(out);
  return domain;
}
static int push(nvtxDomainHandle_t of, const nvtxEventAttributes_t* range) {
  fprintf(out, "%d %s %lld\n", of == domain ? depth : -1, range->message.ascii, (long long)range->payload.llValue);
  fflush(out);
  return depth++;
}
static int pop(nvtxDomainHandle_t of) {
  if (of == domain) --depth;
  fprintf(out, "end at %d\n", depth);
  fflush(out);
  return depth;
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get) {
  const NvtxExportTableCallbacks* callbacks = get(NVTX_ETID_CALLBACKS);
  NvtxFunctionTable table;
  unsigned size = 0;
  if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size)) return 0;
  out = fopen(getenv("NVTX_TOOL_OUTPUT"), "a");
  if (!out || size <= NVTX_CBID_CORE2_DomainRangePop) return 0;
  *table[NVTX_CBID_CORE2_DomainCreateA] = (NvtxFunctionPointer)create;
  *table[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)push;
  *table[NVTX_CBID_CORE2_DomainRangePop] = (NvtxFunctionPointer)pop;
  return 1;
}
