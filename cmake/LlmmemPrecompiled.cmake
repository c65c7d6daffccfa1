# Three quarters of the time of a translation unit on MLIR go into MLIR's headers. They are compiled once, with the
# templates that they instantiate. No file may rely on it: -DLLMMEM_PRECOMPILE_HEADERS=OFF builds without.
option(LLMMEM_PRECOMPILE_HEADERS "Compile MLIR's headers once for all files" ON)

if(LLMMEM_PRECOMPILE_HEADERS AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(LLMMEM_PRECOMPILED ON)
else()
  set(LLMMEM_PRECOMPILED OFF)
endif()

# A target that compiles one header of this folder for others.
function(llmmem_precompiled_target name header)
  if(TARGET ${name})
    return()
  endif()
  file(WRITE ${CMAKE_BINARY_DIR}/precompiled/${name}.cpp "")
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/precompiled/${name}.cpp)
  target_precompile_headers(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/${header})
  target_compile_options(${name} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
endfunction()

# For a target of C++ on MLIR; with OPS, on the dialect's ops too, for targets that name them in most of their files. The
# headers have no time in them, so that ccache keeps what was compiled with them.
function(llmmem_precompile_headers target)
  cmake_parse_arguments(ARG "OPS" "" "" ${ARGN})
  if(NOT LLMMEM_PRECOMPILED)
    return()
  endif()
  if(ARG_OPS)
    set(precompiled LLMMEMPrecompiledOps)
    llmmem_precompiled_target(${precompiled} PrecompiledOps.h)
    add_dependencies(${precompiled} LLMMEMLlmIncGen)
  else()
    set(precompiled LLMMEMPrecompiled)
    llmmem_precompiled_target(${precompiled} Precompiled.h)
  endif()
  # Code of programs would be compiled with -fPIE, which a header compiled with -fPIC does not serve.
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${precompiled})
  target_compile_options(${target} PRIVATE "SHELL:$<$<COMPILE_LANGUAGE:CXX>:-Xclang -fno-pch-timestamp>")
endfunction()
