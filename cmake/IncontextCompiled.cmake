# The compiled edition: the closed forms of `double`, the maps by name in `float` and `double`, and a transformer's passes
# in training, each compiled once.
#
#   incontext_add_compiled()   ->   incontext::compiled, and incontext::compiled_<room> for each of its rooms
#
# The rooms share incontext::compiled_first, what the first table of scripts/verify needs of them: the headers that
# examples/temperature and examples/support include, themselves or by what they include.
#
# A library holds what the last lines of its headers name (core/compiled.hpp), by sources that are written here,
# so that a new result needs no line in a build file. Without INCONTEXT_BUILD_COMPILED only what something links is
# compiled.
include_guard()

# in an order in which each needs only those before it
set(INCONTEXT_COMPILED_ROOMS numerics maps laws regression classification baselines calibration training)

# Sets `variable` to the headers of include/ that these files include, and those that they include.
function(incontext_included variable)
  set(reached "")
  while(ARGN)
    list(POP_FRONT ARGN file)
    file(STRINGS "${file}" lines REGEX "^#include [<\"](incontext|examples)/")
    list(TRANSFORM lines REPLACE "^#include [<\"](.*)[>\"].*" "\\1")
    foreach(header IN LISTS lines)
      if(EXISTS "${PROJECT_SOURCE_DIR}/include/${header}")
        set(file "${PROJECT_SOURCE_DIR}/include/${header}")
      else()
        set(file "${PROJECT_SOURCE_DIR}/${header}")
      endif()
      if(EXISTS "${file}" AND NOT header IN_LIST reached)
        list(APPEND reached "${header}")
        list(APPEND ARGN "${file}")
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
      endif()
    endforeach()
  endwhile()
  set(${variable} "${reached}" PARENT_SCOPE)
endfunction()

# incontext_add_compiled_library(<name> HEADERS <header>... [BEFORE <target>...])
function(incontext_add_compiled_library name)
  cmake_parse_arguments(PARSE_ARGV 1 A "" "" "HEADERS;BEFORE")
  # Reading Eigen takes a second, and what headers share is instantiated once a source: eight headers are a source.
  set(sources "")
  while(A_HEADERS)
    list(LENGTH A_HEADERS number)
    list(SUBLIST A_HEADERS 0 8 some)
    list(REMOVE_ITEM A_HEADERS ${some})
    set(INCONTEXT_UNITS "")
    set(INCONTEXT_INCLUDES "")
    foreach(header IN LISTS some)
      string(REGEX REPLACE "^incontext/(.*)\\.hpp$" "\\1" unit "${header}")
      string(REPLACE "/" "_" unit "${unit}")
      string(APPEND INCONTEXT_UNITS "#define INCONTEXT_UNIT_${unit} 0,\n")
      string(APPEND INCONTEXT_INCLUDES "#include \"${header}\"\n")
    endforeach()
    set(source "${PROJECT_BINARY_DIR}/compiled/${name}_${number}.cpp")
    file(CONFIGURE OUTPUT "${source}" CONTENT "${INCONTEXT_UNITS}${INCONTEXT_INCLUDES}" @ONLY)
    list(APPEND sources "${source}")
  endwhile()
  set(target incontext_compiled_${name})
  if(NOT sources)  # the first library has all of the room
    add_library(${target} INTERFACE)
    add_library(incontext::compiled_${name} ALIAS ${target})
    set_target_properties(${target} PROPERTIES EXPORT_NAME compiled_${name})
    target_link_libraries(${target} INTERFACE ${A_BEFORE})
    return()
  endif()
  add_library(${target} STATIC ${sources})
  if(NOT INCONTEXT_BUILD_COMPILED)
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  add_library(incontext::compiled_${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME compiled_${name} OUTPUT_NAME incontext-${name} POSITION_INDEPENDENT_CODE ON UNITY_BUILD OFF)
  target_link_libraries(${target} PUBLIC incontext ${A_BEFORE})
  target_compile_definitions(${target} PUBLIC INCONTEXT_WITH_COMPILED)
  if(INCONTEXT_TOP_LEVEL)  # programs for this machine's processor and the tests beside them link one library
    target_compile_definitions(${target} PUBLIC
      "$<BUILD_INTERFACE:EIGEN_MAX_ALIGN_BYTES=16;EIGEN_MAX_STATIC_ALIGN_BYTES=16>")
  endif()
  # Eigen packs the factors of a product as the set of instructions wants them, and the linker keeps one copy of each
  # template: the library and all that links it are compiled for the same processor.
  if(INCONTEXT_NATIVE)
    target_link_libraries(${target} PUBLIC $<BUILD_INTERFACE:incontext_native>)
  endif()
  # the bits of the simulate targets
  target_compile_options(${target} PRIVATE
    $<$<CXX_COMPILER_ID:GNU,Clang,AppleClang>:-ffp-contract=off;-fno-math-errno> $<$<CONFIG:Release>:-O2>)
endfunction()

function(incontext_add_compiled)
  file(GLOB first CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/support/*.cpp"
       "${PROJECT_SOURCE_DIR}/examples/temperature/*.cpp")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${first})
  incontext_included(reached ${first})
  set(shared "")
  foreach(room IN LISTS INCONTEXT_COMPILED_ROOMS)
    file(GLOB headers CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/include/incontext/${room}/*.hpp")
    set(of_${room} "")
    foreach(header IN LISTS headers)
      file(STRINGS "${PROJECT_SOURCE_DIR}/include/${header}" lines REGEX "^INCONTEXT_COMPILED")
      if(lines AND header IN_LIST reached)
        list(APPEND shared "${header}")
      elseif(lines)
        list(APPEND of_${room} "${header}")
      endif()
    endforeach()
  endforeach()
  set(before "")
  if(shared)  # Python's source distribution has no examples
    incontext_add_compiled_library(first HEADERS ${shared})
    set(before incontext_compiled_first)
  endif()
  foreach(room IN LISTS INCONTEXT_COMPILED_ROOMS)
    incontext_add_compiled_library(${room} HEADERS ${of_${room}} BEFORE ${before})
    list(APPEND before incontext_compiled_${room})
  endforeach()
  add_library(incontext_compiled INTERFACE)
  add_library(incontext::compiled ALIAS incontext_compiled)
  set_target_properties(incontext_compiled PROPERTIES EXPORT_NAME compiled)
  target_link_libraries(incontext_compiled INTERFACE ${before})
endfunction()
