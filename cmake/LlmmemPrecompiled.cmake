# Three quarters of the time of a translation unit on MLIR go into MLIR's headers. They are compiled once, with the
# templates that they instantiate. No file may rely on it: -DLLMMEM_PRECOMPILE_HEADERS=OFF builds without.
option(LLMMEM_PRECOMPILE_HEADERS "Compile MLIR's headers once for all files" ON)

if(LLMMEM_PRECOMPILE_HEADERS AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(LLMMEM_PRECOMPILED ON)
else()
  set(LLMMEM_PRECOMPILED OFF)
endif()

# For a target of C++ on MLIR. The header has no time in it, so that ccache keeps what was compiled with it.
function(llmmem_precompile_headers target)
  if(NOT LLMMEM_PRECOMPILED)
    return()
  endif()
  if(NOT TARGET LLMMEMPrecompiled)
    file(WRITE ${CMAKE_BINARY_DIR}/precompiled/Precompiled.cpp "")
    add_library(LLMMEMPrecompiled OBJECT ${CMAKE_BINARY_DIR}/precompiled/Precompiled.cpp)
    target_precompile_headers(LLMMEMPrecompiled PRIVATE ${PROJECT_SOURCE_DIR}/cmake/Precompiled.h)
    target_compile_options(LLMMEMPrecompiled PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
  # Code of programs would be compiled with -fPIE, which a header compiled with -fPIC does not serve.
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
  target_precompile_headers(${target} REUSE_FROM LLMMEMPrecompiled)
  target_compile_options(${target} PRIVATE "SHELL:$<$<COMPILE_LANGUAGE:CXX>:-Xclang -fno-pch-timestamp>")
endfunction()
