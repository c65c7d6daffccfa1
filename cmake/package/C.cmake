# The planner's C interface with the planner inside: what programs in C, and Python, load. Its structures carry their
# sizes, so that the interface outlives versions and the SONAME need not name the minor one.
set(c_objects $<TARGET_OBJECTS:LLMMEMCAPI> $<TARGET_OBJECTS:LLMMEMCAPIPlanner> $<TARGET_OBJECTS:LLMMEMDevice>
  ${planner_objects})

add_library(LLMMEMPackageC SHARED ${c_objects})
target_link_libraries(LLMMEMPackageC PRIVATE ${planner_llvm})
llmmem_close_library(LLMMEMPackageC C.exports)
llmmem_package_library(LLMMEMPackageC COMPONENT C EXPORT_NAME C OUTPUT_NAME llmmem-c)
set_target_properties(LLMMEMPackageC PROPERTIES SOVERSION ${PROJECT_VERSION_MAJOR} BUILD_WITH_INSTALL_RPATH ON)

if(LLMMEM_GNU_LD)
  llmmem_add_closed_archive(LLMMEMPackageCStatic OUTPUT_NAME llmmem-c
    OBJECTS ${c_objects} ${planner_llvm} DEPENDS LLMMEMCAPI LLMMEMCAPIPlanner LLMMEMDevice ${planner_parts} KEEP llmmem_*)
  target_link_libraries(LLMMEMPackageCStatic INTERFACE stdc++ m)
  llmmem_package_library(LLMMEMPackageCStatic COMPONENT C EXPORT_NAME CStatic OUTPUT_NAME llmmem-c)
endif()

# The Python package holds the library next to its modules.
install(FILES $<TARGET_FILE:LLMMEMPackageC> DESTINATION llmmem RENAME libllmmem-c.so COMPONENT Python EXCLUDE_FROM_ALL)

llmmem_package_headers(C llmmem-c/Base.h llmmem-c/Devices.h llmmem-c/Forms.h llmmem-c/HostCopies.h llmmem-c/Planner.h)
llmmem_package_component(C)
