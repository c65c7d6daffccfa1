# A test of ctest that runs a fuzzer for a while, from the files of its corpus, to which it adds none. The seed is fixed, so that a
# failure comes again. To search for longer, run the program itself on a folder of its own.
function(llmmem_test_fuzzer name corpus dictionary)
  file(GLOB seeds CONFIGURE_DEPENDS ${corpus}/*)
  list(JOIN seeds "," seeds)
  add_test(NAME Fuzz.${name}
    COMMAND ${name} -seed_inputs=${seeds} -runs=20000 -seed=1 -max_len=4096 -timeout=20 -dict=${dictionary}
      -artifact_prefix=${CMAKE_CURRENT_BINARY_DIR}/)
endfunction()
