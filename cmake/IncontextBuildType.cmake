# incontext_warn_of_missing_build_type() warns a project once if it is compiled without optimization because it has
# neither a build type nor -O in its flags. A debug build is a choice and causes no warning.
function(incontext_warn_of_missing_build_type)
  get_property(_several GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
  get_property(_warned GLOBAL PROPERTY INCONTEXT_WARNED_OF_BUILD_TYPE)
  get_directory_property(_options COMPILE_OPTIONS)
  if(_several OR _warned OR CMAKE_BUILD_TYPE OR "${CMAKE_CXX_FLAGS};${_options}" MATCHES "(^|[ ;])[-/]O")
    return()
  endif()
  set_property(GLOBAL PROPERTY INCONTEXT_WARNED_OF_BUILD_TYPE ON)
  message(WARNING "incontext: this project has no build type and is compiled without optimization, where simulations "
                  "take about 20 times as long. Configure with -DCMAKE_BUILD_TYPE=Release, or set CMAKE_BUILD_TYPE "
                  "before project().")
endfunction()
