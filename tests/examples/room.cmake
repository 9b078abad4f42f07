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
list(FILTER _ledger EXCLUDE REGEX "/options\\.cpp$")
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

# The programs themselves, where they are built: run as a user runs them.
if(TARGET incontext-evaluate AND TARGET incontext-scores AND TARGET incontext-temperature)
  file(GLOB _programs CONFIGURE_DEPENDS "${CMAKE_CURRENT_LIST_DIR}/*_program.cpp")
  incontext_add_test_program(test_programs SOURCES ${_programs} LINK incontext_examples LABEL examples TIMEOUT ${INCONTEXT_HANG_GUARD})
  target_compile_definitions(test_programs PRIVATE INCONTEXT_SOURCES="${PROJECT_SOURCE_DIR}"
                                                   INCONTEXT_EVALUATE="$<TARGET_FILE:incontext-evaluate>"
                                                   INCONTEXT_SCORES="$<TARGET_FILE:incontext-scores>"
                                                   INCONTEXT_TEMPERATURE="$<TARGET_FILE:incontext-temperature>")
  add_dependencies(test_programs incontext-evaluate incontext-scores incontext-temperature)
  target_compile_definitions(test_programs PRIVATE INCONTEXT_SOFTMAX_ERROR="$<TARGET_FILE:incontext-softmax-error>")
  add_dependencies(test_programs incontext-softmax-error)
  target_compile_definitions(test_programs PRIVATE INCONTEXT_MERGE="$<TARGET_FILE:incontext-merge>")
  add_dependencies(test_programs incontext-merge)
  target_compile_definitions(test_programs PRIVATE INCONTEXT_FADING="$<TARGET_FILE:incontext-fading>")
  add_dependencies(test_programs incontext-fading)
  target_compile_definitions(test_programs PRIVATE INCONTEXT_TASKS="$<TARGET_FILE:incontext-tasks>")
  add_dependencies(test_programs incontext-tasks)
  target_compile_definitions(test_programs PRIVATE INCONTEXT_GRADIENTS="$<TARGET_FILE:incontext-gradients>")
  add_dependencies(test_programs incontext-gradients)
  target_compile_definitions(test_programs PRIVATE INCONTEXT_CLASSIFY="$<TARGET_FILE:incontext-classify>")
  add_dependencies(test_programs incontext-classify)
  target_compile_definitions(test_programs PRIVATE INCONTEXT_TRAIN="$<TARGET_FILE:incontext-train>")
  add_dependencies(test_programs incontext-train)
  target_compile_definitions(test_programs PRIVATE INCONTEXT_CALIBRATE="$<TARGET_FILE:incontext-calibrate>")
  add_dependencies(test_programs incontext-calibrate)
  target_compile_definitions(test_programs PRIVATE INCONTEXT_VERIFY="$<TARGET_FILE:incontext-verify>")
  add_dependencies(test_programs incontext-verify)
  if(INCONTEXT_SLOW_TESTS)
    add_test(NAME examples/record_slow COMMAND test_programs "[.slow]")
    set_tests_properties(examples/record_slow PROPERTIES LABELS slow TIMEOUT ${INCONTEXT_HANG_GUARD} ENVIRONMENT OMP_WAIT_POLICY=passive)
    find_package(Python3 QUIET COMPONENTS Interpreter)
    if(Python3_Interpreter_FOUND)
      add_test(NAME torture/train_kills COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/tests/torture/train_kills"
                                                "$<TARGET_FILE:incontext-train>")
      set_tests_properties(torture/train_kills PROPERTIES LABELS slow TIMEOUT ${INCONTEXT_HANG_GUARD} ENVIRONMENT OMP_WAIT_POLICY=passive)
    endif()
  endif()
  if(INCONTEXT_BASH)
    add_test(NAME examples/ledger_page
             COMMAND ${INCONTEXT_BASH} "${CMAKE_CURRENT_LIST_DIR}/ledger_page.sh" "$<TARGET_FILE:incontext-verify>")
    set_tests_properties(examples/ledger_page PROPERTIES LABELS examples TIMEOUT ${INCONTEXT_HANG_GUARD} SKIP_RETURN_CODE 77
                                                         ENVIRONMENT OMP_WAIT_POLICY=passive)
  endif()
endif()
