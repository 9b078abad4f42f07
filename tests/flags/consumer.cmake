# One compiler call, and the program it makes: see CMakeLists.txt.
set(_call ${LAUNCHER} "${COMPILER}" -std=c++20)
separate_arguments(_options UNIX_COMMAND "${OPTIONS}")

if(WHAT STREQUAL "refuses")
  execute_process(COMMAND "${COMPILER}" -std=c++20 ${_options} -fsyntax-only -x c++
                          "${SOURCE}/include/incontext/core/floating_point.hpp"
                  RESULT_VARIABLE _result ERROR_VARIABLE _message)
  if(_result EQUAL 0)
    message(FATAL_ERROR "compiles with ${OPTIONS}")
  endif()
  # g++ shows the source line too; the message itself comes first, and must name the option in the words asked for
  if(NOT _message MATCHES "error:[^\n]*incontext gives wrong numbers under[^\n]*${NAMED}[^\n]*Compile with ")
    message(FATAL_ERROR "refused without a word about ${NAMED}:\n${_message}")
  endif()
  return()
endif()

file(REMOVE_RECURSE "${BINARY}")
file(MAKE_DIRECTORY "${BINARY}")
set(_consumer "${WHAT}")
set(_includes)
if(WHAT STREQUAL "unprotected")  # a header of the same name, with nothing in it, comes first on the include path
  set(_consumer maps)
  file(WRITE "${BINARY}/incontext/core/floating_point.hpp" "#pragma once\n")
  list(APPEND _includes -I "${BINARY}")
endif()
foreach(_directory IN LISTS DIRECTORIES)
  if(_directory MATCHES "^${SOURCE}/")
    list(APPEND _includes -I "${_directory}")
  else()
    list(APPEND _includes -isystem "${_directory}")
  endif()
endforeach()
execute_process(COMMAND ${_call} ${_options} ${_includes} -DTHRUST_HOST_SYSTEM=THRUST_HOST_SYSTEM_CPP
                        -DTHRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_CPP -DTHRUST_IGNORE_DEPRECATED_CPP_DIALECT
                        -DCUB_IGNORE_DEPRECATED_CPP_DIALECT -c "${SOURCE}/tests/flags/${_consumer}.cpp"
                        -o "${BINARY}/consumer.o" COMMAND_ERROR_IS_FATAL ANY)
# Linked without the options: with them g++ would have the whole program flush subnormal numbers to 0.
set(_linked)
if(OPTIONS MATCHES "-fopenmp")
  set(_linked -fopenmp)
endif()
execute_process(COMMAND "${COMPILER}" ${_linked} "${BINARY}/consumer.o" -o "${BINARY}/consumer" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${BINARY}/consumer" RESULT_VARIABLE _result OUTPUT_VARIABLE _output)
message("${_output}")
if(WHAT STREQUAL "unprotected")
  if(NOT _result EQUAL 1 OR NOT _output MATCHES "checks failed")
    message(FATAL_ERROR "without core/floating_point.hpp ${OPTIONS} goes unnoticed")
  endif()
elseif(NOT _result EQUAL 0)
  message(FATAL_ERROR "wrong numbers with ${OPTIONS}")
endif()
