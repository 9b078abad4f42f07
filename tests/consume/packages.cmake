# What CMake says to projects that use the installed package or the folder in other ways than the other tests: each is a
# project of a few lines, which is configured.

# configures(WHAT MESSAGE CODE [-D...]): without an error, or with one that has this message, line breaks aside
function(configures what message code)
  file(REMOVE_RECURSE "${BINARY}")
  file(WRITE "${BINARY}/CMakeLists.txt" "cmake_minimum_required(VERSION 3.22)\nproject(mine LANGUAGES CXX)\n${code}\n")
  execute_process(COMMAND "${CMAKE_COMMAND}" -S "${BINARY}" -B "${BINARY}/build" -G "${GENERATOR}" -DCMAKE_BUILD_TYPE=Release
                          "-DCMAKE_MAKE_PROGRAM=${MAKE_PROGRAM}" "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_PREFIX_PATH=${PREFIX}"
                          "-DThrust_DIR=${THRUST}" ${ARGN}
                  OUTPUT_QUIET ERROR_VARIABLE _errors RESULT_VARIABLE _result)
  string(REGEX REPLACE "[ \n]+" " " _line "${_errors}")
  string(FIND "${_line}" "${message}" _at)
  if((message STREQUAL "" AND NOT _result EQUAL 0) OR (message AND (_result EQUAL 0 OR _at EQUAL -1)))
    message(SEND_ERROR "${what} ends with ${_result}: ${_errors}")
  endif()
endfunction()

set(_find "find_package(incontext REQUIRED COMPONENTS cpp")
configures("an unknown component" "component nonsense needs another name" "${_find} nonsense)")
configures("a prefix without the library" "component compiled needs an incontext that was installed with INCONTEXT_BUILD_COMPILED"
           "file(COPY \"${PREFIX}/lib/cmake/incontext\" DESTINATION \"${BINARY}/copy\" PATTERN incontextCompiled* EXCLUDE)
set(incontext_DIR \"${BINARY}/copy/incontext\")
find_package(incontext REQUIRED COMPONENTS compiled)")
configures("no CUDA" "component cuda needs the CUDA toolkit, and the language CUDA" "${_find} cuda)")
configures("no TBB" "component tbb needs TBB" "${_find} tbb)" -DCMAKE_DISABLE_FIND_PACKAGE_TBB=ON)
configures("no Thrust" "component cpp needs Thrust" "${_find})" -DCMAKE_DISABLE_FIND_PACKAGE_Thrust=ON)
set(_folder "add_subdirectory(\"${INCONTEXT}\" incontext)" -DINCONTEXT_BUILD_PROGRAMS=ON -DCMAKE_DISABLE_FIND_PACKAGE_OpenMP=ON)
configures("no OpenMP" "incontext needs OpenMP 4.5 or newer: install lib" ${_folder})
if(CLANG)
  configures("no OpenMP of clang" "install libomp-" ${_folder} "-DCMAKE_CXX_COMPILER=${CLANG}")
endif()

# ranges of versions; the project's own list of modules
string(REGEX REPLACE "^([0-9]+)\\.([0-9]+).*" "\\1" _major "${VERSION}")
string(REGEX REPLACE "^([0-9]+)\\.([0-9]+).*" "\\2" _minor "${VERSION}")
math(EXPR _next "${_minor} + 1")
math(EXPR _later "${_major} + 1")
set(_ranges "")
foreach(_range ${_major}.${_minor} ${_major}.${_minor}...<${_later} 0.0...${_major}.${_next} ${VERSION}...${VERSION})
  string(APPEND _ranges "find_package(incontext ${_range} REQUIRED)\n")
endforeach()
foreach(_range ${_major}.${_next} ${_major}.${_next}...<${_later} 0.0...<${VERSION})
  string(APPEND _ranges "unset(incontext_DIR CACHE)\nfind_package(incontext ${_range} QUIET)\nif(incontext_FOUND)\n"
                        "  message(FATAL_ERROR \"${VERSION} is taken for ${_range}\")\nendif()\n")
endforeach()
string(APPEND _ranges "if(CMAKE_MODULE_PATH)\n  message(FATAL_ERROR \"CMAKE_MODULE_PATH is \${CMAKE_MODULE_PATH}\")\nendif()\n")
configures("a range" "" "${_ranges}")

# the folder twice, beside the package, and under a library that is exported
configures("a second folder and an export" "" "add_subdirectory(\"${INCONTEXT}\" one)\nadd_subdirectory(\"${INCONTEXT}\" two)
find_package(incontext REQUIRED COMPONENTS cpp)
add_library(mine INTERFACE)
target_link_libraries(mine INTERFACE incontext::incontext)
install(TARGETS mine EXPORT mineTargets)
install(EXPORT mineTargets DESTINATION lib)
export(EXPORT mineTargets FILE mineTargets.cmake)")
configures("the package and the folder" "" "find_package(incontext REQUIRED)\nadd_subdirectory(\"${INCONTEXT}\" two)")
