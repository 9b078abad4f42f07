# The installed package takes an Eigen of a newer major version, whose version file refuses a request for 3.4, and says
# what an older one lacks.
include(CMakePackageConfigHelpers)
function(configure_with version result errors)
  set(_eigen "${BINARY}/eigen-${version}")
  file(WRITE "${_eigen}/Eigen3Config.cmake" "if(NOT TARGET Eigen3::Eigen)\n  add_library(Eigen3::Eigen INTERFACE IMPORTED)\nendif()\n")
  write_basic_package_version_file("${_eigen}/Eigen3ConfigVersion.cmake" VERSION ${version} COMPATIBILITY SameMajorVersion ARCH_INDEPENDENT)
  file(REMOVE_RECURSE "${BINARY}/build")
  execute_process(COMMAND "${CMAKE_COMMAND}" -S "${PROJECT}" -B "${BINARY}/build" -G "${GENERATOR}" "-DCMAKE_MAKE_PROGRAM=${MAKE_PROGRAM}"
                          "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_PREFIX_PATH=${PREFIX}" "-DEigen3_DIR=${_eigen}"
                          -DCMAKE_BUILD_TYPE=Release
                  OUTPUT_QUIET ERROR_VARIABLE _errors RESULT_VARIABLE _result)
  set(${result} ${_result} PARENT_SCOPE)
  set(${errors} "${_errors}" PARENT_SCOPE)
endfunction()

configure_with(5.0.1 _result _errors)
file(STRINGS "${BINARY}/build/CMakeCache.txt" _taken REGEX "^Eigen3_DIR:.*/eigen-5\\.0\\.1$")
if(NOT _result EQUAL 0 OR NOT _taken)  # a refused one is followed by a search for another
  message(FATAL_ERROR "Eigen 5.0.1 is refused: ${_errors}")
endif()
configure_with(3.3.9 _result _errors)
if(_result EQUAL 0 OR NOT _errors MATCHES "incontext needs Eigen3 3\\.4 or newer")
  message(FATAL_ERROR "Eigen 3.3.9 ends with ${_result}: ${_errors}")
endif()
