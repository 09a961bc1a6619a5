# libronchi_cuda.so: built when nvcc is there, looked for beside libronchi when a device is asked for.
set(RONCHI_CUDA OFF)
if(RONCHI_WITH_CUDA STREQUAL "ON" OR (RONCHI_WITH_CUDA STREQUAL "AUTO" AND NOT RONCHI_SANITIZE AND NOT RONCHI_FUZZ))
  include(CheckLanguage)
  if(NOT CMAKE_CUDA_COMPILER AND EXISTS /usr/local/cuda/bin/nvcc)
    set(CMAKE_CUDA_COMPILER /usr/local/cuda/bin/nvcc)
  endif()
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(RONCHI_CUDA ON)
  elseif(RONCHI_WITH_CUDA STREQUAL "ON")
    message(FATAL_ERROR "RONCHI_WITH_CUDA is ON, but nvcc was not found: set CMAKE_CUDA_COMPILER")
  endif()
endif()
if(NOT RONCHI_CUDA)
  return()
endif()

# Machine code for each family, and PTX for those to come.
set(CMAKE_CUDA_ARCHITECTURES 90a-real CACHE STRING "what libronchi_cuda.so has code for")
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
enable_language(CUDA)

# One file a line; kernels lie beside their CPU twins.
add_library(ronchi_cuda MODULE
  src/codec/lane_rans_assemble.cu
  src/codec/lane_rans_encode.cu
  src/codec/lane_rans_encode_on.cu
  src/codec/lane_rans_frames.cu
  src/codec/lane_rans_read.cu
  src/codec/lane_rans_reduce.cu
  src/codec/lane_rans_store.cu
  src/codec/lane_rans_turn.cu
  src/core/error.c
  src/core/view.c
  src/cuda/runtime.cu
  src/cuda/table.cu
  src/formats/bslz4.cu
  src/resident/ingest.cu
)
set_target_properties(ronchi_cuda PROPERTIES OUTPUT_NAME ronchi_cuda POSITION_INDEPENDENT_CODE ON
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR} CUDA_VISIBILITY_PRESET hidden
                      LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/cuda/exports.map)
target_include_directories(ronchi_cuda PRIVATE include src)
target_link_libraries(ronchi_cuda PRIVATE Threads::Threads)
pkg_check_modules(RONCHI_CUDA_JSON REQUIRED IMPORTED_TARGET jansson)
target_include_directories(ronchi_cuda PRIVATE ${RONCHI_CUDA_JSON_INCLUDE_DIRS}) # a header needs its types
target_compile_options(ronchi_cuda PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:-fmad=false;-lineinfo;-Xptxas=-v;\
-Xcompiler=-Wall,-Wextra,-Wshadow,-Werror>")
target_link_options(ronchi_cuda PRIVATE -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/src/cuda/exports.map
                    -Wl,--as-needed -Wl,-z,defs)
