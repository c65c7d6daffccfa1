# The programs, as a user runs them. Tables of devices and ops are compiled in; what a program opens at run time is found
# from its own place: the transports of ranks in ../lib/llmmem (lib/Runtime/Ranks.c), whatever CMAKE_INSTALL_LIBDIR is.
set(tools llmmem-plan)
if(LLMMEM_ENABLE_MLIR)
  list(APPEND tools llmmem llmmem-commbench llmmem-lsp-server llmmem-replay)
endif()
# The MLIR of the machine, where it was found.
set_target_properties(${tools} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS ${tools} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT Tools)

# The other tools are parts of llmmem, and links to it (tools/llmmem).
get_property(links GLOBAL PROPERTY LLMMEM_TOOLS)
foreach(link ${links})
  install(CODE "file(CREATE_LINK llmmem \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/${link}\" SYMBOLIC)" COMPONENT Tools)
endforeach()

install(FILES ${PROJECT_SOURCE_DIR}/tools/llmmem/completion.bash
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME llmmem COMPONENT Tools)

# A manual page of each, from its --help (utils/manual.py).
if(LLMMEM_ENABLE_MLIR)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(paged ${tools} ${links} llmmem-study)
  list(REMOVE_ITEM paged llmmem-lsp-server)
  if(SKBUILD)
    list(REMOVE_ITEM paged llmmem-commbench llmmem-replay)
  endif()
  set(needed ${paged})
  list(REMOVE_ITEM needed ${links} llmmem-study)
  set(pages ${paged})
  list(TRANSFORM pages PREPEND ${PROJECT_BINARY_DIR}/man/man1/)
  list(TRANSFORM pages APPEND .1)
  add_custom_command(OUTPUT ${pages}
    COMMAND ${Python3_EXECUTABLE} -I ${PROJECT_SOURCE_DIR}/utils/manual.py ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}
      ${PROJECT_BINARY_DIR}/man/man1 ${paged}
    DEPENDS ${PROJECT_SOURCE_DIR}/utils/manual.py ${needed} LLMMEMPackageC VERBATIM)
  if(SKBUILD)
    add_custom_target(llmmem-manual DEPENDS ${pages})
    install(FILES ${pages} DESTINATION ${SKBUILD_DATA_DIR}/share/man/man1 COMPONENT Python EXCLUDE_FROM_ALL)
  else()
    add_custom_target(llmmem-manual ALL DEPENDS ${pages})
    install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT Tools)
  endif()
endif()

# llmmem-study is a program in Python: its package and the planner that this opens stand where transports do.
set(study_home ${CMAKE_INSTALL_BINDIR}/../lib/llmmem)
install(PROGRAMS llmmem-study.sh DESTINATION ${CMAKE_INSTALL_BINDIR} RENAME llmmem-study COMPONENT Tools)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/llmmem DESTINATION ${study_home}/python COMPONENT Tools
  PATTERN __pycache__ EXCLUDE)
install(FILES $<TARGET_FILE:LLMMEMPackageC> DESTINATION ${study_home}/python/llmmem RENAME libllmmem-c.so COMPONENT Tools)

# The program that needs no LLVM comes with the Python package as well.
if(SKBUILD)
  install(TARGETS llmmem-plan RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT Python EXCLUDE_FROM_ALL)
endif()
# ... and the one of all tools with the wheel, next to llmmem/_program.py, which starts it. D3 draws the pages of llmmem-study.
if(SKBUILD AND LLMMEM_SELF_CONTAINED)
  install(TARGETS llmmem RUNTIME DESTINATION llmmem/bin COMPONENT Python EXCLUDE_FROM_ALL)
  install(FILES ${PROJECT_SOURCE_DIR}/tools/llmmem/completion.bash
    DESTINATION ${SKBUILD_DATA_DIR}/share/bash-completion/completions RENAME llmmem COMPONENT Python EXCLUDE_FROM_ALL)
  find_file(LLMMEM_D3 d3.min.js PATHS /usr/share/nodejs/d3/dist /usr/share/javascript/d3 REQUIRED)
  find_file(LLMMEM_D3_LICENCE copyright PATHS /usr/share/doc/node-d3 /usr/share/doc/libjs-d3 REQUIRED)
  install(FILES ${LLMMEM_D3} DESTINATION llmmem/_study/page/d3 COMPONENT Python EXCLUDE_FROM_ALL)
  install(FILES ${LLMMEM_D3_LICENCE} DESTINATION llmmem/_study/page/d3 RENAME LICENSE COMPONENT Python EXCLUDE_FROM_ALL)
endif()

foreach(transport ${LLMMEM_TRANSPORTS})
  install(TARGETS transport-${transport} LIBRARY DESTINATION ${CMAKE_INSTALL_BINDIR}/../lib/llmmem COMPONENT Tools)
endforeach()
