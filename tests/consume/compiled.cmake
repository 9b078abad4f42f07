# The installed compiled edition finds the bits that the headers find, and units whose flags give matrices another layout
# do not link with it: the linker names what is wrong.
function(build flags target result output)
  file(REMOVE_RECURSE "${BINARY}")
  execute_process(COMMAND "${CMAKE_COMMAND}" -S "${PROJECT}" -B "${BINARY}" -G "${GENERATOR}" "-DCMAKE_MAKE_PROGRAM=${MAKE_PROGRAM}"
                          "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_PREFIX_PATH=${PREFIX}" "-DINCONTEXT_FLAGS=${flags}"
                          -DCMAKE_BUILD_TYPE=Release OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND "${CMAKE_COMMAND}" --build "${BINARY}" --target ${target} OUTPUT_VARIABLE _said ERROR_VARIABLE _said RESULT_VARIABLE _result)
  set(${result} ${_result} PARENT_SCOPE)
  set(${output} "${_said}" PARENT_SCOPE)
endfunction()

build("" all _result _said)
if(NOT _result EQUAL 0)
  message(FATAL_ERROR "without flags: ${_said}")
endif()
foreach(_units IN ITEMS headers library both)
  execute_process(COMMAND "${BINARY}/of_${_units}" OUTPUT_VARIABLE _of_${_units} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
if(NOT _of_headers MATCHES "^0\\.[0-9]+\n$" OR NOT _of_library STREQUAL _of_headers OR NOT _of_both STREQUAL "${_of_headers}${_of_headers}")
  message(FATAL_ERROR "headers find ${_of_headers}, the library ${_of_library}, both in one program ${_of_both}")
endif()

if(PROCESSOR MATCHES "^(x86_64|AMD64)$")
  foreach(_flags_bytes IN ITEMS -mavx2/32 "-mavx512f;-mfma/64")
    string(REPLACE "/" ";" _flags "${_flags_bytes}")
    list(POP_BACK _flags _bytes)
    build("${_flags}" of_library _result _said)
    if(_result EQUAL 0 OR NOT _said MATCHES "incontext_compiled_has_no_EIGEN_MAX_ALIGN_BYTES_of_${_bytes}")
      message(FATAL_ERROR "${_flags} ends with ${_result}: ${_said}")
    endif()
  endforeach()
endif()
