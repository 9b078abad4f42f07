# The simulate targets, made alike in this tree and by the installed package:
#
#   incontext_add_simulate(<cpp|omp|tbb|cuda>)   ->   incontext::simulate_<backend>
#
# All share one Thrust target whose host and device system are CPP: the sources name their execution policy
# (thrust::cpp::par, thrust::omp::par, ...), so one program may link several backends and choose when it runs.
# Thrust's own targets can't be exported, hence a function and not an export set.

if(NOT DEFINED INCONTEXT_REPRODUCIBLE)
  set(INCONTEXT_REPRODUCIBLE ON)
endif()

# CMake before 3.25.2 doesn't know how to ask nvcc for C++20.
function(incontext_compile_cuda20 target visibility)
  if("cuda_std_20" IN_LIST CMAKE_CUDA_COMPILE_FEATURES)
    target_compile_features(${target} ${visibility} cuda_std_20)
  else()
    target_compile_options(${target} ${visibility} $<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:-std=c++20>)
  endif()
endfunction()

function(incontext_add_simulate backend)
  set(target incontext_simulate_${backend})
  if(TARGET ${target})
    return()
  endif()
  if(NOT TARGET incontext_thrust)
    thrust_create_target(incontext_thrust HOST CPP DEVICE CPP IGNORE_DEPRECATED_CPP_DIALECT)
  endif()
  add_library(${target} INTERFACE)
  add_library(incontext::simulate_${backend} ALIAS ${target})
  target_link_libraries(${target} INTERFACE incontext::incontext incontext_thrust)
  if(INCONTEXT_SIMULATE_INCLUDE_DIR)
    target_include_directories(${target} INTERFACE "${INCONTEXT_SIMULATE_INCLUDE_DIR}")
  endif()

  if(INCONTEXT_REPRODUCIBLE)
    # the same bits from every compiler, backend and inlining context; sqrt vectorises only without errno
    target_compile_options(${target} INTERFACE
      $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>:-ffp-contract=off>
      $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>:-fno-math-errno>
      $<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:--fmad=false>
      $<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:-Xcompiler=-ffp-contract=off,-fno-math-errno>)
  endif()
  # 20012: annotations on defaulted functions, which Eigen has by the page
  target_compile_options(${target} INTERFACE $<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:-diag-suppress=20012>)

  if(backend STREQUAL "omp")
    target_link_libraries(${target} INTERFACE OpenMP::OpenMP_CXX)
    target_compile_options(${target} INTERFACE $<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:-Xcompiler=-fopenmp>)
    target_compile_definitions(${target} INTERFACE INCONTEXT_SIMULATE_OMP=1)
  elseif(backend STREQUAL "tbb")
    target_link_libraries(${target} INTERFACE TBB::tbb)
    target_compile_definitions(${target} INTERFACE INCONTEXT_SIMULATE_TBB=1)
  elseif(backend STREQUAL "cuda")
    target_link_libraries(${target} INTERFACE CUDA::cudart_static)
    incontext_compile_cuda20(${target} INTERFACE)
    target_compile_definitions(${target} INTERFACE INCONTEXT_SIMULATE_CUDA=1)
    target_compile_options(${target} INTERFACE $<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:--expt-relaxed-constexpr>)
  endif()
endfunction()
