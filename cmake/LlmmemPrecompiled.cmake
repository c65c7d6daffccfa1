# Three quarters of the time of a translation unit on MLIR go into MLIR's headers and the classes of the dialect's ops. They
# are compiled once, with the templates that they instantiate. No file may rely on it: -DLLMMEM_PRECOMPILE_HEADERS=OFF builds without.
option(LLMMEM_PRECOMPILE_HEADERS "Compile MLIR's headers once for all files" ON)

if(LLMMEM_PRECOMPILE_HEADERS AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(LLMMEM_PRECOMPILED ON)
else()
  set(LLMMEM_PRECOMPILED OFF)
endif()

# The target that compiles Precompiled.h of this folder for others.
function(llmmem_precompiled_target)
  if(TARGET LLMMEMPrecompiled)
    return()
  endif()
  set(source ${CMAKE_BINARY_DIR}/precompiled/LLMMEMPrecompiled.cpp)
  file(WRITE ${source} "")
  add_library(LLMMEMPrecompiled OBJECT ${source})
  target_precompile_headers(LLMMEMPrecompiled PRIVATE ${PROJECT_SOURCE_DIR}/cmake/Precompiled.h)
  target_compile_options(LLMMEMPrecompiled PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  add_dependencies(LLMMEMPrecompiled LLMMEMLlmIncGen)
endfunction()

# For a target of C++ on MLIR. The headers have no time in them, so that ccache keeps what was compiled with them.
function(llmmem_precompile_headers target)
  if(NOT LLMMEM_PRECOMPILED)
    return()
  endif()
  llmmem_precompiled_target()
  # Code of programs would be compiled with -fPIE, which a header compiled with -fPIC does not serve.
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
  target_precompile_headers(${target} REUSE_FROM LLMMEMPrecompiled)
  target_compile_options(${target} PRIVATE "SHELL:$<$<COMPILE_LANGUAGE:CXX>:-Xclang -fno-pch-timestamp>")
endfunction()

# For a large target without MLIR; targets have headers of their own, as their flags differ.
function(llmmem_precompile_planner_headers target)
  if(LLMMEM_PRECOMPILED)
    target_precompile_headers(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${PROJECT_SOURCE_DIR}/cmake/PrecompiledPlanner.h> ${ARGN})
    target_compile_options(${target} PRIVATE "SHELL:$<$<COMPILE_LANGUAGE:CXX>:-Xclang -fno-pch-timestamp>")
  endif()
endfunction()
