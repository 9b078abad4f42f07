# The samplers promise bits. Without contraction every compiler gives them; a machine with fused multiply-add has to be
# told. g++ vectorizes sqrt only without errno, which changes speed alone.
set(_random_flags -ffp-contract=off -fno-math-errno)
target_compile_options(test_random PRIVATE ${_random_flags})

# Wider vectors take other code in Philox: the tests of bits again, on what this machine can run.
if(NOT CMAKE_CROSSCOMPILING)
  include(CheckCXXSourceRuns)
  foreach(_set avx2 avx512f)
    set(CMAKE_REQUIRED_FLAGS "-m${_set}")
    check_cxx_source_runs("int main() { return __builtin_cpu_supports(\"${_set}\") ? 0 : 1; }" INCONTEXT_RUNS_${_set})
    unset(CMAKE_REQUIRED_FLAGS)
    if(INCONTEXT_RUNS_${_set})
      incontext_add_test_program(test_random_${_set} LINK incontext::incontext LABEL random TIMEOUT 300
        SOURCES "${CMAKE_CURRENT_LIST_DIR}/philox.cpp" "${CMAKE_CURRENT_LIST_DIR}/bits.cpp")
      target_compile_options(test_random_${_set} PRIVATE ${_random_flags} -m${_set} -mfma)
    endif()
  endforeach()
endif()
