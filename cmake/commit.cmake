# Writes the definition of a function that returns the commit, whenever that has changed since the last build: one small
# file is compiled again, and nothing else.
#   cmake -DSOURCE=<repository> -DOUTPUT=<file.cpp> -DHEADER=<file.hpp> "-DFUNCTION=<type> <name>" -P commit.cmake
set(commit unknown)
execute_process(COMMAND git -C "${SOURCE}" describe --always --dirty --abbrev=40 --exclude=*
                OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
if(status EQUAL 0)
  set(commit "${described}")
endif()
set(text "#include \"${HEADER}\"

${FUNCTION}() { return \"${commit}\"; }
")
set(old)
if(EXISTS "${OUTPUT}")
  file(READ "${OUTPUT}" old)
endif()
if(NOT text STREQUAL old)
  file(WRITE "${OUTPUT}" "${text}")
endif()
