# No build system: one compiler call with the include directories, then the program.
set(_includes -I "${SOURCE}/include")
foreach(_directory IN LISTS DIRECTORIES)
  list(APPEND _includes -isystem "${_directory}")
endforeach()
file(MAKE_DIRECTORY "${BINARY}")
execute_process(COMMAND "${COMPILER}" -std=c++20 -O1 -Wall -Wextra -Wpedantic -Wconversion -Werror ${_includes}
                        "${SOURCE}/tests/consume/optimal_temperature.cpp" -o "${BINARY}/consumer"
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${BINARY}/consumer" COMMAND_ERROR_IS_FATAL ANY)
