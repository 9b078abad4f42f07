target_link_libraries(test_examples PRIVATE incontext_examples)

# The programs' own command line library; without it that one test is left out.
incontext_find(CLI11 CONFIG)
if(TARGET CLI11::CLI11)
  target_link_libraries(test_examples PRIVATE CLI11::CLI11)
else()
  set_source_files_properties("${CMAKE_CURRENT_LIST_DIR}/command_line.cpp" PROPERTIES HEADER_FILE_ONLY ON)
endif()

# The ledger's parts, without their program; where its TOML reader is missing, without their tests.
file(GLOB _ledger CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/verify/*.cpp")
list(FILTER _ledger EXCLUDE REGEX "/(options|subcommand)\\.cpp$")
incontext_find(tomlplusplus CONFIG)
if(TARGET tomlplusplus::tomlplusplus)
  list(APPEND _ledger "${PROJECT_BINARY_DIR}/examples/embedded_claims.cpp")
  set_source_files_properties("${PROJECT_BINARY_DIR}/examples/embedded_claims.cpp"
                              PROPERTIES GENERATED ON SKIP_UNITY_BUILD_INCLUSION ON)
  add_dependencies(test_examples incontext_claims)
else()
  set(_ledger "")
  set_source_files_properties("${CMAKE_CURRENT_LIST_DIR}/ledger.cpp" "${CMAKE_CURRENT_LIST_DIR}/ledger_rules.cpp"
                              PROPERTIES HEADER_FILE_ONLY ON)
endif()
target_sources(test_examples PRIVATE ${_ledger})
target_compile_definitions(test_examples PRIVATE INCONTEXT_SOURCES="${PROJECT_SOURCE_DIR}")

# What the program prints and the library finds; else tests/programs/ has the tests of the program.
if(TARGET incontext-program)
  incontext_add_test_program(test_programs SOURCES "${CMAKE_CURRENT_LIST_DIR}/library_program.cpp" LINK incontext_examples incontext::compiled LABEL examples TIMEOUT ${INCONTEXT_HANG_GUARD})
  incontext_optimize_less(test_programs -O0)
  target_compile_definitions(test_programs PRIVATE INCONTEXT_PROGRAM="$<TARGET_FILE:incontext-program>")
  add_dependencies(test_programs incontext-program)
  find_package(Python3 QUIET COMPONENTS Interpreter)
  if(INCONTEXT_SLOW_TESTS AND Python3_Interpreter_FOUND)
    add_test(NAME torture/train_kills COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/torture/train_kills"
                                              "$<TARGET_FILE:incontext-program>")
    set_tests_properties(torture/train_kills PROPERTIES LABELS slow TIMEOUT ${INCONTEXT_HANG_GUARD} ENVIRONMENT OMP_WAIT_POLICY=passive)
  endif()
  if(INCONTEXT_BASH)
    add_test(NAME examples/ledger_page
             COMMAND ${INCONTEXT_BASH} "${CMAKE_CURRENT_LIST_DIR}/ledger_page.sh" "$<TARGET_FILE:incontext-program>")
    add_test(NAME examples/completion
             COMMAND ${INCONTEXT_BASH} "${CMAKE_CURRENT_LIST_DIR}/completion.sh" "$<TARGET_FILE:incontext-program>")
    set_tests_properties(examples/ledger_page examples/completion PROPERTIES LABELS examples TIMEOUT ${INCONTEXT_HANG_GUARD}
                         SKIP_RETURN_CODE 77 ENVIRONMENT OMP_WAIT_POLICY=passive)
  endif()
endif()
