# llmmem's own target functions: one for libraries without MLIR, one for libraries on it, one for tools.

# Plain C++ on LLVM's Support alone; builds and tests in seconds.
function(llmmem_add_library name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC ${ARG_LINK} ${LLMMEM_LLVM})
  # A folder names what it takes from another of the same library: #include "Bounds/CutNetwork.h".
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  # What LLMMEM_EXPORT marks is public; see cmake/package.
  set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()

# A library on MLIR. Dependencies follow after DEPENDS (generated headers) and LINK (our own libraries).
function(llmmem_add_mlir_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC ${ARG_LINK} ${LLMMEM_MLIR})
  llmmem_precompile_headers(${name})
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# As mlir_tablegen, by our own backends (tools/llmmem-tblgen).
function(llmmem_tablegen file)
  set(LLMMEM_TABLEGEN_EXE llmmem-tblgen)
  set(LLMMEM_TABLEGEN_TARGET llmmem-tblgen)
  tablegen(LLMMEM ${file} ${ARGN})
  set(TABLEGEN_OUTPUT ${TABLEGEN_OUTPUT} PARENT_SCOPE)
endfunction()

# A tool of the program llmmem (tools/llmmem): its sources define the tool's function in tools/Tools.h. Its own name is a link to llmmem.
function(llmmem_add_tool name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_library(${name}-tool OBJECT ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name}-tool PUBLIC ${ARG_LINK})
  target_include_directories(${name}-tool PRIVATE ${PROJECT_SOURCE_DIR}/tools)
  if(LLMMEM_ENABLE_MLIR)
    llmmem_precompile_headers(${name}-tool)
  endif()
  set_property(GLOBAL APPEND PROPERTY LLMMEM_TOOLS ${name})
  add_custom_target(${name} DEPENDS llmmem)
endfunction()

# A program of its own.
function(llmmem_add_program name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tools)
  if(LLMMEM_ENABLE_MLIR)
    llmmem_precompile_headers(${name})
  endif()
endfunction()
