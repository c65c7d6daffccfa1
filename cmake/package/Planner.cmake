# The planner as one library that needs no LLVM where it is used: what it takes from LLVM's Support is linked in, and
# hidden, so that another LLVM in the same process does not meet it.

set(planner_parts LLMMEMPlanning LLMMEMPlanningModel LLMMEMPlanningProofs LLMMEMSupport)
set(planner_objects)
foreach(part ${planner_parts})
  list(APPEND planner_objects $<FILTER:$<TARGET_OBJECTS:${part}>,EXCLUDE,[.]pch$>) # precompiled headers are among them
endforeach()
get_target_property(support_library LLVMSupport LOCATION)
get_target_property(demangle_library LLVMDemangle LOCATION)
set(planner_llvm ${support_library} ${demangle_library})

# Lets a shared library show what the file `exports` names and nothing else.
function(llmmem_close_library target exports)
  target_link_options(${target} PRIVATE -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/${exports}
    -Wl,--gc-sections -Wl,--as-needed)
  # A sanitizer's runtime is in the program, not in the library.
  if(NOT CMAKE_CXX_FLAGS MATCHES -fsanitize)
    target_link_options(${target} PRIVATE -Wl,--no-undefined)
  endif()
  set_target_properties(${target} PROPERTIES
    LINKER_LANGUAGE CXX LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${exports})
endfunction()

# An archive whose one member is what the linker makes of OBJECTS, with every symbol local but those of the patterns KEEP.
function(llmmem_add_closed_archive target)
  cmake_parse_arguments(ARG "" "OUTPUT_NAME" "OBJECTS;KEEP;DEPENDS" ${ARGN})
  set(member ${CMAKE_CURRENT_BINARY_DIR}/${ARG_OUTPUT_NAME}.o)
  list(TRANSFORM ARG_KEEP PREPEND --keep-global-symbol=)
  add_custom_command(OUTPUT ${member}
    COMMAND ${LLMMEM_GNU_LD} -r --force-group-allocation -o ${member}.all ${ARG_OBJECTS}
    COMMAND ${CMAKE_OBJCOPY} --localize-hidden --wildcard ${ARG_KEEP} ${member}.all ${member}
    COMMAND ${CMAKE_COMMAND} -E rm ${member}.all
    DEPENDS ${ARG_DEPENDS} COMMAND_EXPAND_LISTS VERBATIM)
  add_library(${target} STATIC ${member})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  set_source_files_properties(${member} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
endfunction()

add_library(LLMMEMPackagePlanning SHARED ${planner_objects})
target_link_libraries(LLMMEMPackagePlanning PRIVATE ${planner_llvm})
llmmem_close_library(LLMMEMPackagePlanning Planner.exports)
llmmem_package_library(LLMMEMPackagePlanning COMPONENT Planning EXPORT_NAME Planning OUTPUT_NAME llmmem-planning)

# GNU ld alone dissolves groups of sections in a relocatable link, which local symbols need.
find_program(LLMMEM_GNU_LD NAMES ld.bfd)
if(LLMMEM_GNU_LD)
  llmmem_add_closed_archive(LLMMEMPackagePlanningStatic OUTPUT_NAME llmmem-planning
    OBJECTS ${planner_objects} ${planner_llvm} DEPENDS ${planner_parts}
    KEEP _ZN6llmmem8planning* _ZNK6llmmem8planning*)
  llmmem_package_library(LLMMEMPackagePlanningStatic COMPONENT Planning EXPORT_NAME PlanningStatic
    OUTPUT_NAME llmmem-planning)
  target_link_libraries(LLMMEMPackagePlanningStatic INTERFACE m)
else()
  message(STATUS "Static library of the planner: none (binutils adds ld.bfd)")
endif()

llmmem_package_headers(Planning
  llmmem/Planning/Allocation/Placement.h
  llmmem/Planning/Variants/PlanVariants.h
  llmmem/Planning/Bounds/Prove.h
  llmmem/Planning/Formats/Explain.h
  llmmem/Planning/Model/Cancellation.h
  llmmem/Planning/Model/FoundStructure.h
  llmmem/Planning/Model/Plan.h
  llmmem/Planning/Model/Problem.h
  llmmem/Planning/Model/VariantSet.h
  llmmem/Planning/Model/ValidateTilings.h
  llmmem/Planning/Model/Verify.h
  llmmem/Planning/Planner.h
  llmmem/Planning/Proofs/Check.h
  llmmem/Planning/Proofs/Proof.h
  llmmem/Planning/Policies/Policies.h
  llmmem/Support/Export.h
  llmmem/Support/Result.h)
llmmem_package_component(Planning)
