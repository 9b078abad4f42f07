# The compiled edition: the closed forms of `double`, each compiled once.
#
#   incontext_add_compiled()   ->   incontext::compiled, and incontext::compiled_<room> for each of its rooms
#
# A room's library holds what the last lines of its headers name (core/compiled.hpp), by sources that are written here,
# so that a new result needs no line in a build file. Without INCONTEXT_BUILD_COMPILED only what something links is
# compiled.
include_guard()

# in an order in which each needs only those before it
set(INCONTEXT_COMPILED_ROOMS numerics laws regression classification baselines calibration training)

function(incontext_add_compiled)
  set(before "")
  foreach(room IN LISTS INCONTEXT_COMPILED_ROOMS)
    file(GLOB headers CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/include/incontext/${room}/*.hpp")
    set(units "")
    foreach(header IN LISTS headers)
      file(STRINGS "${PROJECT_SOURCE_DIR}/include/${header}" lines REGEX "^INCONTEXT_COMPILED")
      if(lines)
        list(APPEND units "${header}")
      endif()
    endforeach()
    # Reading Eigen takes a second, and what headers share is instantiated once a source: seven headers are a source.
    set(sources "")
    while(units)
      list(LENGTH sources number)
      list(SUBLIST units 0 7 some)
      list(REMOVE_ITEM units ${some})
      set(INCONTEXT_UNITS "")
      set(INCONTEXT_INCLUDES "")
      foreach(header IN LISTS some)
        string(REGEX REPLACE "^incontext/(.*)\\.hpp$" "\\1" unit "${header}")
        string(REPLACE "/" "_" unit "${unit}")
        string(APPEND INCONTEXT_UNITS "#define INCONTEXT_UNIT_${unit} 0,\n")
        string(APPEND INCONTEXT_INCLUDES "#include \"${header}\"\n")
      endforeach()
      set(source "${PROJECT_BINARY_DIR}/compiled/${room}_${number}.cpp")
      file(CONFIGURE OUTPUT "${source}" CONTENT "${INCONTEXT_UNITS}${INCONTEXT_INCLUDES}" @ONLY)
      list(APPEND sources "${source}")
    endwhile()
    add_library(incontext_compiled_${room} STATIC ${sources})
    if(NOT INCONTEXT_BUILD_COMPILED)
      set_target_properties(incontext_compiled_${room} PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
    add_library(incontext::compiled_${room} ALIAS incontext_compiled_${room})
    set_target_properties(incontext_compiled_${room} PROPERTIES
      EXPORT_NAME compiled_${room} OUTPUT_NAME incontext-${room} POSITION_INDEPENDENT_CODE ON UNITY_BUILD OFF)
    target_link_libraries(incontext_compiled_${room} PUBLIC incontext ${before})
    target_compile_definitions(incontext_compiled_${room} PUBLIC INCONTEXT_WITH_COMPILED)
    if(INCONTEXT_TOP_LEVEL)  # programs for this machine's processor and the tests beside them link one library
      target_compile_definitions(incontext_compiled_${room} PUBLIC
        "$<BUILD_INTERFACE:EIGEN_MAX_ALIGN_BYTES=16;EIGEN_MAX_STATIC_ALIGN_BYTES=16>")
    endif()
    # the bits of the simulate targets
    target_compile_options(incontext_compiled_${room} PRIVATE
      $<$<CXX_COMPILER_ID:GNU,Clang,AppleClang>:-ffp-contract=off;-fno-math-errno> $<$<CONFIG:Release>:-O2>)
    list(APPEND before incontext_compiled_${room})
  endforeach()
  add_library(incontext_compiled INTERFACE)
  add_library(incontext::compiled ALIAS incontext_compiled)
  set_target_properties(incontext_compiled PROPERTIES EXPORT_NAME compiled)
  target_link_libraries(incontext_compiled INTERFACE ${before})
endfunction()
