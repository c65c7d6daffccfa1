# LLMMEM_SELF_CONTAINED links LLVM, MLIR and all else that a program uses into the program, so that it runs where none of them is: the
# wheel has such a program (utils/wheel). What is left are libc and libm.
option(LLMMEM_SELF_CONTAINED "Link LLVM and MLIR into the program llmmem, as wheels need it" OFF)

# What our libraries link: the libraries that Debian ships, or all archives of which the linker takes what is called.
set(LLMMEM_LLVM LLVM)
set(LLMMEM_MLIR MLIR LLVM)
if(NOT LLMMEM_SELF_CONTAINED)
  return()
endif()

# One of MLIR's passes calls the code generators of all targets. Those that nothing of ours generates code for are a third of the
# program, so the functions that begin them are defined here and do nothing.
set(others ${LLVM_TARGETS_TO_BUILD})
list(REMOVE_ITEM others ${LLVM_NATIVE_ARCH} NVPTX)
set(lines "/* Targets that this program has no code generator for. */\n")
foreach(target ${others})
  foreach(part Target TargetInfo TargetMC AsmPrinter AsmParser Disassembler)
    string(APPEND lines "void LLVMInitialize${target}${part}(void) {}\n")
  endforeach()
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/OtherTargets.c CONTENT "${lines}")

file(GLOB archives ${LLVM_LIBRARY_DIR}/libMLIR*.a ${LLVM_LIBRARY_DIR}/libLLVM*.a)
# Archives of tests and of programs define what others define as well.
list(FILTER archives EXCLUDE REGEX "Test|CAPI|BOLT|Exegesis|LLVMFuzz|LLVMgold")
add_library(LLMMEMOtherTargets STATIC ${CMAKE_BINARY_DIR}/OtherTargets.c)
add_library(LLMMEMArchives INTERFACE)
# The first archive that defines a function is the one that it is taken from.
target_link_libraries(LLMMEMArchives INTERFACE -Wl,--start-group LLMMEMOtherTargets ${archives} -Wl,--end-group
  -Wl,--push-state,-Bstatic -lz -lzstd -Wl,--pop-state ${CMAKE_DL_LIBS} pthread m)
target_link_options(LLMMEMArchives INTERFACE -no-pie -Wl,--gc-sections -Wl,--as-needed)
# C++'s library too, whose symbols a shared library does not show: a process of Python may have others.
add_link_options(-static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL)
set(LLMMEM_LLVM LLMMEMArchives)
set(LLMMEM_MLIR LLMMEMArchives)
# An archive comes first where a library is looked for by its name.
set(CMAKE_FIND_LIBRARY_SUFFIXES .a .so)
