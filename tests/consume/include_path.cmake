# No build system: one compiler call with the include directories, then the program.
set(_includes -I "${SOURCE}/include")
foreach(_directory IN LISTS DIRECTORIES)
  list(APPEND _includes -isystem "${_directory}")
endforeach()
file(MAKE_DIRECTORY "${BINARY}")
execute_process(COMMAND "${COMPILER}" -std=c++20 -O1 -Wall -Wextra -Wpedantic -Wconversion ${FATAL} ${_includes}
                        "${SOURCE}/tests/consume/optimal_temperature.cpp" -o "${BINARY}/consumer"
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${BINARY}/consumer" COMMAND_ERROR_IS_FATAL ANY)

# With the packages of Debian the command by which README compiles its program includes no header of CUDA, which most
# machines do not have. It is only preprocessed.
if(NOT EXISTS /usr/include/thrust/for_each.h OR NOT EXISTS /usr/include/eigen3)
  return()
endif()
file(READ "${SOURCE}/README.md" _readme)
if(NOT _readme MATCHES "`g\\+\\+ ([^`]*) program\\.cpp`")
  message(FATAL_ERROR "README.md no longer has the command that compiles its program")
endif()
separate_arguments(_flags UNIX_COMMAND "${CMAKE_MATCH_1}")
execute_process(COMMAND "${COMPILER}" ${_flags} -M tests/consume/simulate.cpp WORKING_DIRECTORY "${SOURCE}"
                OUTPUT_VARIABLE _included COMMAND_ERROR_IS_FATAL ANY)
if(NOT _included MATCHES "/thrust/for_each" OR _included MATCHES "[^ ]*/cuda_runtime[^ ]*")
  message(FATAL_ERROR "README's program includes ${CMAKE_MATCH_0}")
endif()
