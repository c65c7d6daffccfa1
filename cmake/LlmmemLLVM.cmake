# Finds LLVM and MLIR 22 as Debian ships them, and gathers what every target of llmmem compiles with.

find_program(LLMMEM_LLVM_CONFIG NAMES llvm-config-22 llvm-config)
if(LLMMEM_LLVM_CONFIG AND NOT LLVM_DIR)
  execute_process(COMMAND ${LLMMEM_LLVM_CONFIG} --cmakedir OUTPUT_VARIABLE LLVM_DIR
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(LLVM_DIR ${LLVM_DIR} CACHE PATH "LLVM's CMake package")
endif()
find_package(LLVM REQUIRED CONFIG)
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR "llmmem needs LLVM/MLIR 22, found ${LLVM_VERSION} in ${LLVM_DIR}; "
                      "install libmlir-22-dev or set -DLLVM_DIR")
endif()

list(APPEND CMAKE_MODULE_PATH ${LLVM_CMAKE_DIR})
include(TableGen)
if(LLMMEM_ENABLE_MLIR)
  set(MLIR_DIR ${LLVM_INSTALL_PREFIX}/lib/cmake/mlir CACHE PATH "MLIR's CMake package")
  find_package(MLIR REQUIRED CONFIG)
  # MLIRConfig.cmake does not export this; without it MLIR's helpers link static archives in addition to libMLIR.so
  # and every TypeID exists twice.
  set(MLIR_LINK_MLIR_DYLIB ON)
  list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR})
  include(AddLLVM)
  include(AddMLIR)
endif()

include_directories(${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include)
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS})
add_compile_definitions(${LLVM_DEFINITIONS_LIST})
# -ffp-contract=off: host code that computes reference numbers must not differ between compilers.
add_compile_options(-Wall -Wextra -Wno-unused-parameter -ffp-contract=off
                    $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions>
                    $<$<COMPILE_LANGUAGE:CXX>:-Wno-deprecated-declarations>)

# Headers of LLVM have other layouts without NDEBUG (llvm::Statistic, so every pass with statistics) than a library that was
# built with it: a debug build, too, must agree with the library.
if(NOT LLVM_ENABLE_ASSERTIONS)
  add_compile_definitions($<$<NOT:$<CONFIG:Release>>:NDEBUG>)
endif()
