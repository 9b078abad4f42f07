# Into an empty prefix, so that nothing of an earlier install hides what is missing.
file(REMOVE_RECURSE "${PREFIX}")
execute_process(COMMAND "${CMAKE_COMMAND}" --install "${BINARY}" --prefix "${PREFIX}" COMMAND_ERROR_IS_FATAL ANY)
