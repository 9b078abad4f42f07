# The simulate targets, defined in the same way in this tree and by the installed package:
#
#   incontext_add_simulate(<cpp|omp|tbb|mpi|cuda>)   ->   incontext::simulate_<backend>
#
# simulate_mpi is for simulate/engine/distributed.hpp, beside any of the others.
#
# The sources name their execution policy (thrust::cpp::par, thrust::omp::par, ...), so one program may link several
# backends and choose when it runs. Thrust's own targets name one system each, refuse to be mixed, are seen in one
# directory only, and can't be exported; so the simulate targets take the include directories from them, once.

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

# The include directories of a target and of all it links.
function(incontext_include_closure variable target)
  set(found)
  get_target_property(own ${target} INTERFACE_INCLUDE_DIRECTORIES)
  if(own)
    list(APPEND found ${own})
  endif()
  get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
  foreach(link IN LISTS links)
    if(TARGET "${link}")
      incontext_include_closure(deeper ${link})
      list(APPEND found ${deeper})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES found)
  set(${variable} "${found}" PARENT_SCOPE)
endfunction()

function(incontext_add_thrust)
  thrust_create_target(incontext_thrust_cpp HOST CPP DEVICE CPP)
  incontext_include_closure(directories incontext_thrust_cpp)
  add_library(incontext_thrust INTERFACE)
  target_include_directories(incontext_thrust INTERFACE ${directories})
  # CPP is the one device system that asks for no library; nvcc's algorithms come with CUDA only
  target_compile_definitions(incontext_thrust INTERFACE
    THRUST_HOST_SYSTEM=THRUST_HOST_SYSTEM_CPP
    $<IF:$<COMPILE_LANGUAGE:CUDA>,THRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_CUDA,THRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_CPP>
    THRUST_IGNORE_DEPRECATED_CPP_DIALECT CUB_IGNORE_DEPRECATED_CPP_DIALECT)
endfunction()

function(incontext_add_simulate backend)
  set(target incontext_simulate_${backend})
  if(TARGET ${target})
    return()
  endif()
  if(NOT TARGET incontext_thrust)
    incontext_add_thrust()
  endif()
  add_library(${target} INTERFACE)
  add_library(incontext::simulate_${backend} ALIAS ${target})
  target_link_libraries(${target} INTERFACE incontext::incontext incontext_thrust)
  if(INCONTEXT_SIMULATE_INCLUDE_DIR)
    target_include_directories(${target} INTERFACE "${INCONTEXT_SIMULATE_INCLUDE_DIR}")
  endif()

  if(INCONTEXT_REPRODUCIBLE)
    # the same bits from every compiler, backend and inlining context; sqrt vectorizes only without errno
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
  elseif(backend STREQUAL "mpi")
    target_link_libraries(${target} INTERFACE MPI::MPI_CXX)
  elseif(backend STREQUAL "cuda")
    target_link_libraries(${target} INTERFACE CUDA::cudart_static)
    incontext_compile_cuda20(${target} INTERFACE)
    target_compile_definitions(${target} INTERFACE INCONTEXT_SIMULATE_CUDA=1)
  endif()
endfunction()
