# Functions for this repository's own programs and tests, which no consumer uses.
#
#   incontext_add_program(<name> SOURCES <file.cpp>... [CUDA_SOURCES <file.cpp>...] [LINK <target>...]
#                         [ONE_EDITION])
#
# builds <name> with the host compiler (OpenMP and TBB inside) and, with CUDA_SOURCES and where nvcc is found,
# <name>-cuda with every backend inside. CUDA_SOURCES, which nvcc takes minutes for, are compiled for each edition: they
# hold what simulates and little else. SOURCES are compiled once, by the host compiler, for both: beside CUDA_SOURCES
# of the simulate headers they include *_types.hpp and engine/records/ alone, because the others differ between the editions.
#
# With INCONTEXT_INSTRUCTION_SETS, CUDA_SOURCES of a program that has SOURCES too become a shared library, once for each
# of these sets, for plain;x86-64-v3;x86-64-v4:
#
#   lib<name>-simulator.so    glibc-hwcaps/x86-64-v3/lib<name>-simulator.so    glibc-hwcaps/x86-64-v4/...
#
# The dynamic loader (glibc 2.33 or later) takes the last that the processor can run, and the first where none of the
# others is. With one set the program is for processors that have it: scripts/verify and scripts/test build for the
# machine that they run on. Nothing compiled for a newer processor is in any other file; simulator.map makes every symbol
# local but the members of the classes ...Simulator, so that no edition calls an inline function of another or of the
# program. ONE_EDITION is for a program that computes by
# Eigen, whose digits would depend on the edition.

add_library(incontext_warnings INTERFACE)
target_compile_options(incontext_warnings INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>:-Wall;-Wextra;-Wpedantic;-Wconversion;-Werror>
  # g++ 12 sees an overlap in std::string's operator+ that isn't there, and uninitialized variables in std::variant and
  # in its own AVX-512 intrinsics, which a build for this machine's processor inlines
  $<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict;-Wno-maybe-uninitialized>
  $<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>,$<BOOL:${INCONTEXT_NATIVE}>>:-Wno-uninitialized>
  # -Wpedantic refuses the line markers nvcc itself writes
  $<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:-Xcompiler=-Wall,-Wextra,-Wconversion,-Werror,-Wno-restrict,-Wno-maybe-uninitialized;-Werror=all-warnings>)

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
function(incontext_compile_for target set)
  if(NOT set STREQUAL "plain")
    target_compile_options(${target} PRIVATE -march=${set})
  endif()
  if(set STREQUAL "x86-64-v4")
    target_compile_options(${target} PRIVATE -mprefer-vector-width=512)
  endif()
endfunction()

# incontext_add_editions(<program> SOURCES <file.cpp>... SETS <set>... LINK <target>...): the libraries; <program> links
# the first
function(incontext_add_editions program)
  cmake_parse_arguments(PARSE_ARGV 1 A "" "" "SOURCES;SETS;LINK")
  list(POP_FRONT A_SETS first)
  # the loader would take what an earlier configuration left for the newest edition
  foreach(set IN ITEMS x86-64-v3 x86-64-v4)
    if(NOT set IN_LIST A_SETS)
      file(REMOVE "${CMAKE_CURRENT_BINARY_DIR}/glibc-hwcaps/${set}/lib${program}-simulator.so")
    endif()
  endforeach()
  foreach(set IN LISTS first A_SETS)
    set(target ${program}-simulator-${set})
    add_library(${target} SHARED ${A_SOURCES})
    set(folder "")
    if(NOT set STREQUAL first)
      set(folder "/glibc-hwcaps/${set}")
    endif()
    incontext_compile_for(${target} ${set})
    target_link_libraries(${target} PRIVATE incontext::simulate_omp incontext::simulate_tbb incontext_warnings ${A_LINK})
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
    # Eigen would align memory and order sums by the processor: what one side allocates, the other may free, and the
    # digits are those of every edition
    target_compile_definitions(${target} PRIVATE EIGEN_DONT_VECTORIZE EIGEN_MAX_ALIGN_BYTES=16
                                                 EIGEN_MAX_STATIC_ALIGN_BYTES=16)
    target_compile_options(${target} PRIVATE -fno-semantic-interposition)
    target_link_options(${target} PRIVATE "LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/simulator.map")
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${program}-simulator LINK_DEPENDS
      "${PROJECT_SOURCE_DIR}/cmake/simulator.map" LIBRARY_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}${folder}")
    add_dependencies(${program} ${target})
    if(INCONTEXT_INSTALL AND NOT CMAKE_CURRENT_SOURCE_DIR MATCHES "/tests/")
      install(TARGETS ${target} LIBRARY DESTINATION "${INCONTEXT_PROGRAM_LIBDIR}${folder}" OPTIONAL)
    endif()
  endforeach()
  target_link_libraries(${program} PRIVATE ${program}-simulator-${first})
  file(RELATIVE_PATH path "/${CMAKE_INSTALL_BINDIR}" "/${INCONTEXT_PROGRAM_LIBDIR}")
  set_target_properties(${program} PROPERTIES INSTALL_RPATH "$ORIGIN/${path}")
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
  cmake_parse_arguments(PARSE_ARGV 1 A "ONE_EDITION" "" "SOURCES;CUDA_SOURCES;LINK")
  set(targets ${name})
  if(A_CUDA_SOURCES AND INCONTEXT_WITH_CUDA)
    incontext_cuda_wrappers(wrappers ${name}-wrappers ${A_CUDA_SOURCES})
    add_executable(${name}-cuda ${wrappers})
    target_link_libraries(${name}-cuda PRIVATE incontext::simulate_cuda)
    set_target_properties(${name}-cuda PROPERTIES JOB_POOL_COMPILE heavy)
    list(APPEND targets ${name}-cuda)
    if(A_SOURCES)
      add_library(${name}-host OBJECT ${A_SOURCES})
      set(A_SOURCES $<TARGET_OBJECTS:${name}-host>)
      target_sources(${name}-cuda PRIVATE ${A_SOURCES})
      list(APPEND targets ${name}-host)
    endif()
  endif()
  if(A_CUDA_SOURCES AND A_SOURCES AND INCONTEXT_INSTRUCTION_SETS AND NOT INCONTEXT_NATIVE AND NOT A_ONE_EDITION)
    add_executable(${name} ${A_SOURCES})
    incontext_add_editions(${name} SOURCES ${A_CUDA_SOURCES} SETS ${INCONTEXT_INSTRUCTION_SETS} LINK ${A_LINK})
  else()
    add_executable(${name} ${A_CUDA_SOURCES} ${A_SOURCES})
  endif()
  foreach(target IN LISTS targets)
    target_link_libraries(${target} PRIVATE incontext::simulate_omp incontext::simulate_tbb incontext_warnings
                                            incontext_native ${A_LINK})
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
  endforeach()
endfunction()
