# The bits program, compiled by every compiler and for every instruction set at hand. For CUDA, which takes nvcc minutes,
# it is compiled by scripts/gpu-check and with the slow tests.
set(_bits_flags
  -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/cuda
  -DTHRUST_HOST_SYSTEM=THRUST_HOST_SYSTEM_CPP -DTHRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_CPP)
foreach(_target Eigen3::Eigen Boost::headers Random123::Random123 _Thrust_Base)
  if(TARGET ${_target})
    get_target_property(_directories ${_target} INTERFACE_INCLUDE_DIRECTORIES)
    foreach(_directory IN LISTS _directories)
      if(IS_DIRECTORY "${_directory}" AND NOT _directory STREQUAL "/usr/include")
        list(APPEND _bits_flags -isystem ${_directory})
      endif()
    endforeach()
  endif()
endforeach()
set(_distributed_flags ${_bits_flags})
list(JOIN _bits_flags " " _bits_flags)
incontext_add_program(incontext-bits CUDA_SOURCES "${CMAKE_CURRENT_LIST_DIR}/bits_program.cpp")
# what ptxas says of every kernel is kept, for the test gpu/kernels
if(TARGET incontext-bits-cuda AND INCONTEXT_BASH)
  set(INCONTEXT_PTXAS_RECORD "${CMAKE_CURRENT_BINARY_DIR}/ptxas.txt")
  target_compile_options(incontext-bits-cuda PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-Xptxas=-v>)
  set_target_properties(incontext-bits-cuda PROPERTIES CUDA_COMPILER_LAUNCHER
    "${INCONTEXT_BASH};${PROJECT_SOURCE_DIR}/tests/gpu/keep_ptxas.sh;${INCONTEXT_PTXAS_RECORD};${CMAKE_CUDA_COMPILER_LAUNCHER}"
    EXCLUDE_FROM_ALL $<NOT:$<BOOL:${INCONTEXT_SLOW_TESTS}>>)
endif()
set(_built_with other)
if(NOT INCONTEXT_NATIVE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(_built_with g++)
elseif(NOT INCONTEXT_NATIVE AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(_built_with clang++)
endif()
add_test(NAME simulate/bits_of_every_build
         COMMAND "${INCONTEXT_BASH}" "${CMAKE_CURRENT_LIST_DIR}/compare_builds.sh" "${PROJECT_SOURCE_DIR}"
                 "${CMAKE_CURRENT_BINARY_DIR}/bits" $<TARGET_FILE:incontext-bits> ${_built_with} "${_bits_flags}" "${INCONTEXT_SLOW_TESTS}")
set_tests_properties(simulate/bits_of_every_build PROPERTIES LABELS simulate TIMEOUT ${INCONTEXT_HANG_GUARD} COST 1000)

if(INCONTEXT_SLOW_TESTS)
  add_test(NAME simulate/other_processors
           COMMAND "${INCONTEXT_BASH}" "${CMAKE_CURRENT_LIST_DIR}/compare_processors.sh" "${PROJECT_SOURCE_DIR}"
                   "${CMAKE_CURRENT_BINARY_DIR}/processors" "${CMAKE_CXX_COMPILER}" "${_bits_flags}")
  set_tests_properties(simulate/other_processors PROPERTIES LABELS simulate SKIP_RETURN_CODE 77
                                                            TIMEOUT ${INCONTEXT_HANG_GUARD} COST 1000)
endif()

# Processes that share simulations, where there is an MPI.
add_test(NAME simulate/distributed_library
         COMMAND "${INCONTEXT_BASH}" "${CMAKE_CURRENT_LIST_DIR}/distributed/test.sh" library
                 "${CMAKE_CURRENT_LIST_DIR}/distributed/program.cpp" -ffp-contract=off ${_distributed_flags})
set_tests_properties(simulate/distributed_library PROPERTIES LABELS simulate SKIP_RETURN_CODE 77 TIMEOUT ${INCONTEXT_HANG_GUARD})
if(TARGET incontext::simulate_mpi AND TARGET incontext-program)
  add_test(NAME simulate/distributed_programs
           COMMAND "${INCONTEXT_BASH}" "${CMAKE_CURRENT_LIST_DIR}/distributed/test.sh" programs
                   $<TARGET_FILE:incontext-program>)
  # Open MPI leaks where a rank ends early, from libraries that it has unloaded by then. Alone the program is tested for
  # leaks by tests/programs.
  set_tests_properties(simulate/distributed_programs PROPERTIES LABELS simulate SKIP_RETURN_CODE 77 TIMEOUT ${INCONTEXT_HANG_GUARD}
                                                                ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0")
endif()

# A small program whose simulator is compiled for each instruction set, as the program of a Release build is.
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$" AND
   CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT INCONTEXT_NATIVE)
  incontext_add_simulator(instruction-sets-simulator SETS plain x86-64-v3 x86-64-v4
                          SOURCES "${CMAKE_CURRENT_LIST_DIR}/instruction_sets/simulator.cpp")
  add_executable(instruction-sets "${CMAKE_CURRENT_LIST_DIR}/instruction_sets/program.cpp")
  target_include_directories(instruction-sets PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(instruction-sets PRIVATE incontext::incontext incontext_warnings instruction-sets-simulator)
  add_test(NAME simulate/instruction_sets COMMAND "${INCONTEXT_BASH}" "${CMAKE_CURRENT_LIST_DIR}/instruction_sets/test.sh"
                                                  $<TARGET_FILE:instruction-sets>)
  set_tests_properties(simulate/instruction_sets PROPERTIES LABELS simulate TIMEOUT ${INCONTEXT_HANG_GUARD})
endif()

# The GPU's path where there is no GPU: one trial per call, slots side by side, several waves, a grid's rows in blocks,
# on a host whose fresh memory is NaN.
function(incontext_use_host_gpu target)
  target_include_directories(${target} BEFORE PRIVATE "${PROJECT_SOURCE_DIR}/tests/simulate/host_gpu")
  target_compile_definitions(${target} PRIVATE INCONTEXT_SIMULATE_CUDA=1 INCONTEXT_PACKS_OF_ONE)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()
add_executable(incontext-bits-host-gpu "${CMAKE_CURRENT_LIST_DIR}/bits_program.cpp")
target_link_libraries(incontext-bits-host-gpu PRIVATE incontext::simulate_cpp incontext_warnings)
target_include_directories(incontext-bits-host-gpu PRIVATE "${PROJECT_SOURCE_DIR}")
incontext_use_host_gpu(incontext-bits-host-gpu)
add_test(NAME simulate/bits_of_host_gpu COMMAND "${INCONTEXT_BASH}" -c
  "for numbers in 1 50000 20000000 1000000000; do \
     HOST_GPU_NUMBERS=$numbers '$<TARGET_FILE:incontext-bits-host-gpu>' cuda | \
       diff '${CMAKE_CURRENT_LIST_DIR}/bits.txt' - || exit 1; done")
set_tests_properties(simulate/bits_of_host_gpu PROPERTIES LABELS simulate TIMEOUT ${INCONTEXT_HANG_GUARD})

incontext_add_test_program(test_host_gpu SOURCES "${CMAKE_CURRENT_LIST_DIR}/host_gpu/engine.cpp"
                           "${CMAKE_CURRENT_SOURCE_DIR}/apply/host_gpu/apply.cpp"
                           LINK incontext::simulate_omp LABEL simulate TIMEOUT ${INCONTEXT_HANG_GUARD})
incontext_use_host_gpu(test_host_gpu)

if(TARGET incontext-bits-cuda AND INCONTEXT_SLOW_TESTS)
  add_test(NAME gpu/bits COMMAND "${INCONTEXT_BASH}" -c
    "'$<TARGET_FILE:incontext-bits-cuda>' cuda > bits.out || exit $?; diff '${CMAKE_CURRENT_LIST_DIR}/bits.txt' bits.out")
  set_tests_properties(gpu/bits PROPERTIES LABELS gpu SKIP_RETURN_CODE 77 TIMEOUT ${INCONTEXT_HANG_GUARD})
endif()
