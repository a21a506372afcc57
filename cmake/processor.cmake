# DUNNAGE_PROCESSOR: the folder below src/base, src/pack/cpu and src/shim with what depends on the
# processor.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
  set(DUNNAGE_PROCESSOR x86_64)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(DUNNAGE_PROCESSOR aarch64)
else()
  message(FATAL_ERROR "Dunnage supports x86_64 and aarch64, and this is ${CMAKE_SYSTEM_PROCESSOR}")
endif()
