# Functions for this repository's own programs and tests, which no consumer uses.
#
#   incontext_add_program(<name> SOURCES <file.cpp>... [CUDA_SOURCES <file.cpp>...] [LINK <target>...])
#
# builds <name> with the host compiler (OpenMP and TBB inside) and, with CUDA_SOURCES and where nvcc is found,
# <name>-cuda with every backend inside: its CUDA_SOURCES are compiled by nvcc, which takes minutes for them, and its
# SOURCES by the host compiler.
#
#   incontext_add_subcommand(<name> SOURCES <file.cpp>... [SIMULATOR <file.cpp>...] [ONE_INSTRUCTION_SET]
#                            [COMPILED <target>...])
#   incontext_add_subcommands(<target> [CUDA] NAMES <name>...)
#
# The first compiles a subcommand of the program `incontext`, whose function is incontext::examples::<name>::subcommand
# with _ for -; the second makes a program of these subcommands. SIMULATOR holds what simulates and little else, because it
# is compiled several times: for each instruction set and, for a program with CUDA, by nvcc. SOURCES are compiled once:
# of the simulate headers they include *_types.hpp and engine/records/ alone, because the others differ between these
# builds.
#
# With INCONTEXT_INSTRUCTION_SETS, a SIMULATOR becomes a shared library, once for each of these sets, for
# plain;x86-64-v3;x86-64-v4:
#
#   libincontext-<name>.so    glibc-hwcaps/x86-64-v3/libincontext-<name>.so    glibc-hwcaps/x86-64-v4/...
#
# The dynamic loader (glibc 2.33 or later) takes the last that the processor can run, and the first where none of the
# others is. With one set the program is for processors that have it: scripts/verify and scripts/test build for the
# machine that they run on. Nothing compiled for a newer processor is in any other file; simulator.map makes every symbol
# local but the members of the classes ...Simulator, so that no build calls an inline function of another or of the
# program. ONE_INSTRUCTION_SET is for a simulator that computes by Eigen, whose digits would depend on the set: it is a
# part of the program. COMPILED is what it needs of the compiled edition, if not all.

# A warning fails the build with g++ 12, which compiles every change, and with clang 14 to 16, one of which compiles
# every release. Other compilers show it, so that what they wrongly find keeps no user from the tests.
set(INCONTEXT_FATAL "")
set(_fatal_on_host "")
set(_fatal_on_device "")
if((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^12\\.")
   OR (CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^1[456]\\."))
  set(INCONTEXT_FATAL -Werror)
  set(_fatal_on_host ",-Werror")
  set(_fatal_on_device -Werror=all-warnings)
endif()
add_library(incontext_warnings INTERFACE)
target_compile_options(incontext_warnings INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>:-Wall;-Wextra;-Wpedantic;-Wconversion;${INCONTEXT_FATAL}>
  # g++'s -Wconversion has none of sign in C++. Headers and program are free of those, too: tests/rules/clang.py.
  $<$<COMPILE_LANG_AND_ID:CXX,Clang,AppleClang>:-Wno-sign-conversion>
  # g++ 12 and 14 wrongly report uninitialized strings in std::variant.
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>
  # g++ 12 wrongly reports an overlap in std::string's operator+, and g++ 13 one in std::vector's insert.
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>
  # g++ 12 wrongly reports uninitialized variables in its own AVX-512 intrinsics, which a build for this machine inlines.
  $<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>,$<BOOL:${INCONTEXT_NATIVE}>>:-Wno-uninitialized>
  # -Wpedantic refuses the line markers nvcc itself writes
  $<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:-Xcompiler=-Wall,-Wextra,-Wconversion${_fatal_on_host},-Wno-restrict,-Wno-maybe-uninitialized;${_fatal_on_device}>)

# Nothing of ours uses Eigen on a device, and its annotations cost pages of nvcc's warnings.
target_compile_definitions(incontext_warnings INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:EIGEN_NO_CUDA>)

add_library(incontext_native INTERFACE)
if(INCONTEXT_NATIVE)
  include(CheckCXXSourceCompiles)
  target_compile_options(incontext_native INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-march=native>
                                                    $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-march=native>)
  set(CMAKE_REQUIRED_FLAGS "-march=native")
  check_cxx_source_compiles("#ifndef __AVX512F__\n#error no AVX-512\n#endif\nint main() {}" INCONTEXT_HAS_AVX512)
  unset(CMAKE_REQUIRED_FLAGS)
  if(INCONTEXT_HAS_AVX512)
    target_compile_options(incontext_native INTERFACE
      $<$<COMPILE_LANGUAGE:CXX>:-mprefer-vector-width=512>
      $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-mprefer-vector-width=512>)
  endif()
endif()

# Libraries that belong to a program, not to the system's users.
set(INCONTEXT_PROGRAM_LIBDIR "${CMAKE_INSTALL_LIBDIR}/incontext")

# Compiles for an instruction set: plain (what the compiler takes by itself), x86-64-v3 (AVX2) or x86-64-v4 (AVX-512).
# Eigen would align memory and order sums by the processor: what one side allocates, the other may free, and the digits
# are those of every set.
function(incontext_compile_for target set)
  target_compile_definitions(${target} PRIVATE EIGEN_DONT_VECTORIZE EIGEN_MAX_ALIGN_BYTES=16 EIGEN_MAX_STATIC_ALIGN_BYTES=16)
  if(NOT set STREQUAL "plain")
    target_compile_options(${target} PRIVATE -march=${set})
  endif()
  if(set STREQUAL "x86-64-v4")
    target_compile_options(${target} PRIVATE -mprefer-vector-width=512)
  endif()
endfunction()

# incontext_add_simulator(<name> SOURCES <file.cpp>... SETS <set>... LINK <target>...): the libraries lib<name>.so, one for
# each set; a program links <name>, which is that of the first
function(incontext_add_simulator name)
  cmake_parse_arguments(PARSE_ARGV 1 A "" "" "SOURCES;SETS;LINK")
  list(POP_FRONT A_SETS first)
  # the loader would take what an earlier configuration left for the newest set
  foreach(set IN ITEMS x86-64-v3 x86-64-v4)
    if(NOT set IN_LIST A_SETS)
      file(REMOVE "${CMAKE_CURRENT_BINARY_DIR}/glibc-hwcaps/${set}/lib${name}.so")
    endif()
  endforeach()
  foreach(set IN LISTS first A_SETS)
    set(target ${name})
    set(folder "")
    if(NOT set STREQUAL first)
      set(target ${name}-${set})
      set(folder "/glibc-hwcaps/${set}")
    endif()
    add_library(${target} SHARED ${A_SOURCES})
    incontext_compile_for(${target} ${set})
    target_link_libraries(${target} PRIVATE incontext::simulate_omp incontext::simulate_tbb incontext_warnings ${A_LINK})
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
    target_compile_options(${target} PRIVATE -fno-semantic-interposition)
    target_link_options(${target} PRIVATE "LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/simulator.map")
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} LINK_DEPENDS
      "${PROJECT_SOURCE_DIR}/cmake/simulator.map" LIBRARY_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}${folder}")
    if(NOT set STREQUAL first)
      add_dependencies(${name} ${target})
    endif()
    if(INCONTEXT_INSTALL AND NOT CMAKE_CURRENT_SOURCE_DIR MATCHES "/tests/")
      install(TARGETS ${target} LIBRARY DESTINATION "${INCONTEXT_PROGRAM_LIBDIR}${folder}" OPTIONAL)
    endif()
  endforeach()
endfunction()

# nvcc and 50-digit sources each take up to 2 GB: never two at a time.
set_property(GLOBAL APPEND PROPERTY JOB_POOLS heavy=1)

# Sets `variable` to a source file that defines `signature`, declared in `header`, to return the commit. The target
# `target`, on which every target that compiles the file depends, writes it again whenever the commit has changed.
function(incontext_commit_source target variable header signature)
  set(output "${CMAKE_CURRENT_BINARY_DIR}/${target}.cpp")
  add_custom_target(${target} BYPRODUCTS "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DSOURCE=${PROJECT_SOURCE_DIR}" "-DOUTPUT=${output}" "-DHEADER=${header}"
            "-DFUNCTION=${signature}" -P "${PROJECT_SOURCE_DIR}/cmake/commit.cmake"
    COMMENT "Asking git for the commit" VERBATIM)
  set_source_files_properties("${output}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set(${variable} "${output}" PARENT_SCOPE)
endfunction()

# One-line CUDA wrappers of C++ sources: LANGUAGE is a property of a file in a directory, so one file can't be both.
function(incontext_cuda_wrappers variable prefix)
  set(wrappers)
  foreach(source IN LISTS ARGN)
    get_filename_component(path "${source}" ABSOLUTE)
    get_filename_component(stem "${source}" NAME_WE)
    set(wrapper "${CMAKE_CURRENT_BINARY_DIR}/${prefix}/${stem}.cu")
    file(CONFIGURE OUTPUT "${wrapper}" CONTENT "#include \"@path@\"\n" @ONLY)
    list(APPEND wrappers "${wrapper}")
  endforeach()
  set(${variable} "${wrappers}" PARENT_SCOPE)
endfunction()

function(incontext_add_program name)
  cmake_parse_arguments(PARSE_ARGV 1 A "" "" "SOURCES;CUDA_SOURCES;LINK")
  set(targets ${name})
  if(A_CUDA_SOURCES AND INCONTEXT_WITH_CUDA)
    incontext_cuda_wrappers(wrappers ${name}-wrappers ${A_CUDA_SOURCES})
    add_executable(${name}-cuda ${wrappers} ${A_SOURCES})
    target_link_libraries(${name}-cuda PRIVATE incontext::simulate_cuda)
    set_target_properties(${name}-cuda PROPERTIES JOB_POOL_COMPILE heavy)
    list(APPEND targets ${name}-cuda)
  endif()
  add_executable(${name} ${A_CUDA_SOURCES} ${A_SOURCES})
  foreach(target IN LISTS targets)
    incontext_link_program(${target} ${A_LINK})
  endforeach()
endfunction()

# What a program and every part of it is compiled and linked with.
function(incontext_link_program target)
  target_link_libraries(${target} PRIVATE incontext::simulate_omp incontext::simulate_tbb incontext_warnings
                                          incontext_native ${ARGN})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
endfunction()

# Closed forms and their printing are fast at any level of optimization, but slow to compile with it. Only the files that
# simulate are optimized.
set(INCONTEXT_CLOSED_FORM_OPTIONS $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
set(INCONTEXT_LOOP_OPTIONS $<$<CONFIG:Release>:-O3>)

function(incontext_add_subcommand name)
  cmake_parse_arguments(PARSE_ARGV 1 A "ONE_INSTRUCTION_SET" "" "SOURCES;SIMULATOR;COMPILED")
  if(NOT A_COMPILED)
    set(A_COMPILED incontext::compiled)
  endif()
  string(REPLACE "-" "_" folder "${name}")
  list(TRANSFORM A_SIMULATOR PREPEND "${folder}/")
  list(TRANSFORM A_SOURCES PREPEND "${folder}/")
  set_source_files_properties(${A_SIMULATOR} PROPERTIES COMPILE_OPTIONS "${INCONTEXT_LOOP_OPTIONS}")
  add_library(subcommand-${name} OBJECT ${A_SOURCES})
  incontext_link_program(subcommand-${name} incontext_examples CLI11::CLI11)
  set_property(TARGET subcommand-${name} PROPERTY INCONTEXT_COMPILED ${A_COMPILED})
  target_compile_options(subcommand-${name} PRIVATE "${INCONTEXT_CLOSED_FORM_OPTIONS}")
  set_property(GLOBAL APPEND PROPERTY INCONTEXT_SUBCOMMANDS ${name})
  if(NOT A_SIMULATOR)
    return()
  endif()
  set_property(TARGET subcommand-${name} PROPERTY INCONTEXT_SIMULATOR ${A_SIMULATOR})
  set_property(GLOBAL APPEND PROPERTY INCONTEXT_SIMULATING_SUBCOMMANDS ${name})
  if(INCONTEXT_INSTRUCTION_SETS AND NOT INCONTEXT_NATIVE AND NOT A_ONE_INSTRUCTION_SET)
    incontext_add_simulator(incontext-${name} SOURCES ${A_SIMULATOR} SETS ${INCONTEXT_INSTRUCTION_SETS} LINK incontext_examples ${A_COMPILED})
  else()
    add_library(incontext-${name} OBJECT ${A_SIMULATOR})
    incontext_link_program(incontext-${name} incontext_examples)
  endif()
endfunction()

# The list of a program's subcommands: subcommands.cpp.in, completed.
function(incontext_list_subcommands variable target)
  set(INCONTEXT_DECLARATIONS "")
  set(INCONTEXT_CALLS "")
  foreach(name IN LISTS ARGN)
    string(REPLACE "-" "_" space "${name}")
    string(APPEND INCONTEXT_DECLARATIONS "namespace ${space} {\nSubcommand subcommand();\n}\n")
    list(APPEND INCONTEXT_CALLS "${space}::subcommand()")
  endforeach()
  list(JOIN INCONTEXT_CALLS ", " INCONTEXT_CALLS)
  set(list "${CMAKE_CURRENT_BINARY_DIR}/${target}_subcommands.cpp")
  configure_file("${CMAKE_CURRENT_SOURCE_DIR}/incontext/subcommands.cpp.in" "${list}" @ONLY)
  set(${variable} "${list}" PARENT_SCOPE)
endfunction()

function(incontext_add_subcommands target)
  cmake_parse_arguments(PARSE_ARGV 1 A "CUDA" "" "NAMES")
  # Of an inline function that is in several files the linker takes the first, which is to be an optimized one: what
  # simulates comes first.
  set(objects "")
  set(libraries "")
  set(sources "")
  foreach(name IN LISTS A_NAMES)
    get_target_property(simulator subcommand-${name} INCONTEXT_SIMULATOR)
    if(simulator AND A_CUDA)
      incontext_cuda_wrappers(wrappers ${target}-${name} ${simulator})
      list(APPEND sources ${wrappers})
    elseif(simulator)
      get_target_property(type incontext-${name} TYPE)
      if(type STREQUAL "OBJECT_LIBRARY")
        list(APPEND objects $<TARGET_OBJECTS:incontext-${name}>)
      else()
        list(APPEND libraries incontext-${name})
      endif()
    endif()
  endforeach()
  foreach(name IN LISTS A_NAMES)
    list(APPEND objects $<TARGET_OBJECTS:subcommand-${name}>)
    get_target_property(compiled subcommand-${name} INCONTEXT_COMPILED)
    list(APPEND libraries ${compiled})
  endforeach()
  incontext_list_subcommands(list ${target} ${A_NAMES})
  add_executable(${target} ${sources} ${objects} "${list}" incontext/main.cpp)
  if(A_CUDA)
    target_link_libraries(${target} PRIVATE incontext::simulate_cuda)
    set_target_properties(${target} PROPERTIES JOB_POOL_COMPILE heavy)
  endif()
  incontext_link_program(${target} incontext_examples ${libraries})
  target_compile_options(${target} PRIVATE "${INCONTEXT_CLOSED_FORM_OPTIONS}")
  file(RELATIVE_PATH path "/${CMAKE_INSTALL_BINDIR}" "/${INCONTEXT_PROGRAM_LIBDIR}")
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN/${path}" INSTALL_RPATH_USE_LINK_PATH ON)
endfunction()
