# The memory pool that PyTorch loads by name (python/llmmem/torch/_pool.py). It needs no CUDA to be built, and nothing of LLVM.
find_package(Threads REQUIRED)
set(runtime ${PROJECT_SOURCE_DIR}/lib/Runtime)
add_library(LLMMEMPool MODULE ${runtime}/ArenaPool.c ${runtime}/CudaDriver.c ${runtime}/TorchPool.cpp)
# An exception is how PyTorch hears that memory ran out.
set_source_files_properties(${runtime}/TorchPool.cpp PROPERTIES COMPILE_OPTIONS -fexceptions)
target_include_directories(LLMMEMPool PRIVATE ${PROJECT_SOURCE_DIR}/include ${runtime})
target_link_libraries(LLMMEMPool PRIVATE ${CMAKE_DL_LIBS} Threads::Threads)
set_target_properties(LLMMEMPool PROPERTIES PREFIX lib OUTPUT_NAME llmmem-pool C_STANDARD 11
  C_VISIBILITY_PRESET default LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
# Python's package holds it next to its modules.
install(TARGETS LLMMEMPool LIBRARY DESTINATION llmmem COMPONENT Python EXCLUDE_FROM_ALL)
