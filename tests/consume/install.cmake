# Installs into an empty prefix, so that no file of an earlier install hides a missing one.
file(REMOVE_RECURSE "${PREFIX}")
execute_process(COMMAND "${CMAKE_COMMAND}" --install "${BINARY}" --prefix "${PREFIX}" COMMAND_ERROR_IS_FATAL ANY)
# Every program runs from the place where it was installed.
foreach(_program IN LISTS PROGRAMS)
  execute_process(COMMAND "${PREFIX}/bin/${_program}" --version OUTPUT_VARIABLE _output COMMAND_ERROR_IS_FATAL ANY)
  if(NOT _output STREQUAL "${_program} ${VERSION}\n")
    message(FATAL_ERROR "${PREFIX}/bin/${_program} --version says: ${_output}")
  endif()
endforeach()
