# The dialect, the passes and the pipelines as one library on the MLIR of the machine. The planner inside is a copy of its
# own, and hidden: a program that also calls the planner links llmmem::Planning as well.

set(passes_parts LLMMEMDevice LLMMEMInterfaces LLMMEMDialect LLMMEMLayout LLMMEMUpstream LLMMEMTargets LLMMEMAnalysis LLMMEMTransforms LLMMEMReports LLMMEMBufferization LLMMEMStrategies LLMMEMCodegen LLMMEMKernelAnalysis
  LLMMEMConversion LLMMEMEmulationLowering LLMMEMPipelines LLMMEMCAPI LLMMEMCAPIPasses)
set(passes_objects ${planner_objects})
foreach(part ${passes_parts})
  list(APPEND passes_objects $<TARGET_OBJECTS:${part}>)
endforeach()

add_library(LLMMEMPackagePasses SHARED ${passes_objects})
target_link_libraries(LLMMEMPackagePasses PUBLIC MLIR LLVM)
llmmem_close_library(LLMMEMPackagePasses Passes.exports)
llmmem_package_library(LLMMEMPackagePasses COMPONENT Passes EXPORT_NAME Passes OUTPUT_NAME llmmem-passes)

if(LLMMEM_GNU_LD)
  llmmem_add_closed_archive(LLMMEMPackagePassesStatic OUTPUT_NAME llmmem-passes
    OBJECTS ${passes_objects} DEPENDS ${planner_parts} ${passes_parts}
    KEEP !_ZN6llmmem8planning* !_ZNK6llmmem8planning* _ZN6llmmem* _ZNK6llmmem* _ZT?N6llmmem*
      _ZN4mlir6detail14TypeIDResolverIN6llmmem* llmmem_*)
  target_link_libraries(LLMMEMPackagePassesStatic INTERFACE MLIR LLVM)
  llmmem_package_library(LLMMEMPackagePassesStatic COMPONENT Passes EXPORT_NAME PassesStatic OUTPUT_NAME llmmem-passes)
endif()

# The passes' headers name the planner's data, so its headers come along; those of execution and import do not.
foreach(tree ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  install(DIRECTORY ${tree}/include/llmmem DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT Passes
    FILES_MATCHING PATTERN *.h PATTERN *.td PATTERN *.inc
    PATTERN CMakeFiles EXCLUDE PATTERN Execution EXCLUDE PATTERN Import EXCLUDE PATTERN Runtime EXCLUDE PATTERN CAPI EXCLUDE)
endforeach()
llmmem_package_headers(Passes llmmem-c/Base.h llmmem-c/Passes.h)
llmmem_package_component(Passes)

install(TARGETS llmmem-plugin LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT Passes)
set_target_properties(llmmem-plugin PROPERTIES INSTALL_RPATH "$ORIGIN")
