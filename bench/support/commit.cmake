# Writes what build_commit() returns, whenever it has changed since the last build.
#   cmake -DSOURCE=<repository> -DOUTPUT=<file.cpp> -P commit.cmake
set(commit unknown)
execute_process(COMMAND git -C "${SOURCE}" describe --always --dirty --abbrev=40 --exclude=*
                OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
if(status EQUAL 0)
  set(commit "${described}")
endif()
set(text "#include \"bench/support/build.hpp\"

std::string_view incontext::bench::build_commit() { return \"${commit}\"; }
")
set(old)
if(EXISTS "${OUTPUT}")
  file(READ "${OUTPUT}" old)
endif()
if(NOT text STREQUAL old)
  file(WRITE "${OUTPUT}" "${text}")
endif()
