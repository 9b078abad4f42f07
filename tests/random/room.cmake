# The samplers promise the same bits. Every compiler gives them if it does not contract a product and a sum into a fused
# multiply-add, which must be forbidden where the machine has one. g++ vectorizes sqrt only without errno, which changes
# speed alone.
set(_random_flags -ffp-contract=off -fno-math-errno)
target_compile_options(test_random PRIVATE ${_random_flags})

# With wider vectors Philox runs other code, so the tests of bits are run again with those that this machine has.
if(NOT CMAKE_CROSSCOMPILING)
  include(CheckCXXSourceRuns)
  foreach(_set avx2 avx512f)
    set(CMAKE_REQUIRED_FLAGS "-m${_set}")
    check_cxx_source_runs("int main() { return __builtin_cpu_supports(\"${_set}\") ? 0 : 1; }" INCONTEXT_RUNS_${_set})
    unset(CMAKE_REQUIRED_FLAGS)
    if(INCONTEXT_RUNS_${_set})
      incontext_add_test_program(test_random_${_set} LINK incontext::incontext LABEL random TIMEOUT ${INCONTEXT_HANG_GUARD}
        SOURCES "${CMAKE_CURRENT_LIST_DIR}/philox.cpp" "${CMAKE_CURRENT_LIST_DIR}/bits.cpp")
      target_compile_options(test_random_${_set} PRIVATE ${_random_flags} -m${_set} -mfma)
    endif()
  endforeach()
endif()
