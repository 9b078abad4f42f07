# The programs' own command line library; without it that one test is left out.
incontext_find(CLI11 CONFIG)
if(TARGET CLI11::CLI11)
  target_link_libraries(test_examples PRIVATE CLI11::CLI11)
else()
  set_source_files_properties("${CMAKE_CURRENT_LIST_DIR}/command_line.cpp" PROPERTIES HEADER_FILE_ONLY ON)
endif()
