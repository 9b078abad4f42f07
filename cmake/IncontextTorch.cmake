# LibTorch for incontext/adapters/torch.hpp, found in the same way in this tree and by the installed package:
#
#   incontext_add_torch()   ->   incontext::torch, where LibTorch is found
#
# A project that has called find_package(Torch) itself gets that Torch. Otherwise its package is looked for where
# find_package would (CMAKE_PREFIX_PATH, Torch_ROOT, Torch_DIR, the system), and not run: the one for CUDA has a
# TorchConfig.cmake that enables a language, sets flags of the whole directory, and ends the configuration where it finds no
# toolkit. The headers and the libraries of the CPU are all that is taken from it.

function(incontext_add_torch)
  if(TARGET incontext_torch)
    return()
  endif()
  if(Torch_FOUND AND TORCH_LIBRARIES)
    set(libraries ${TORCH_LIBRARIES})
    set(directories ${TORCH_INCLUDE_DIRS})
  else()
    find_path(INCONTEXT_TORCH_CONFIG_DIR TorchConfig.cmake
              HINTS "${Torch_DIR}" "${Torch_ROOT}" ENV Torch_ROOT ${CMAKE_PREFIX_PATH}
              PATH_SUFFIXES Torch share/cmake/Torch lib/cmake/Torch "lib/${CMAKE_LIBRARY_ARCHITECTURE}/cmake/Torch")
    set(hints "${INCONTEXT_TORCH_CONFIG_DIR}/../../.." "${INCONTEXT_TORCH_CONFIG_DIR}/../../../..")
    set(only PATH_SUFFIXES include lib "lib/${CMAKE_LIBRARY_ARCHITECTURE}" NO_DEFAULT_PATH)
    if(INCONTEXT_TORCH_CONFIG_DIR)
      find_path(INCONTEXT_TORCH_INCLUDE_DIR torch/csrc/autograd/custom_function.h HINTS ${hints} ${only})
      find_library(INCONTEXT_TORCH_CPU_LIBRARY torch_cpu HINTS ${hints} ${only})
      find_library(INCONTEXT_TORCH_C10_LIBRARY c10 HINTS ${hints} ${only})
      # pip's packages were built this way until 2.5: nothing of today's C++ library links with them
      file(STRINGS "${INCONTEXT_TORCH_CONFIG_DIR}/TorchConfig.cmake" old_abi REGEX "_GLIBCXX_USE_CXX11_ABI=0")
    endif()
    mark_as_advanced(INCONTEXT_TORCH_CONFIG_DIR INCONTEXT_TORCH_INCLUDE_DIR INCONTEXT_TORCH_CPU_LIBRARY
                     INCONTEXT_TORCH_C10_LIBRARY)
    if(old_abi)
      message(STATUS "Torch in ${INCONTEXT_TORCH_CONFIG_DIR} is built for libstdc++'s old ABI: not used")
      return()
    endif()
    if(NOT INCONTEXT_TORCH_INCLUDE_DIR OR NOT INCONTEXT_TORCH_CPU_LIBRARY OR NOT INCONTEXT_TORCH_C10_LIBRARY)
      return()
    endif()
    message(STATUS "Torch ${INCONTEXT_TORCH_CONFIG_DIR}")
    set(libraries "${INCONTEXT_TORCH_CPU_LIBRARY}" "${INCONTEXT_TORCH_C10_LIBRARY}")
    set(directories "${INCONTEXT_TORCH_INCLUDE_DIR}" "${INCONTEXT_TORCH_INCLUDE_DIR}/torch/csrc/api/include")
  endif()
  add_library(incontext_torch INTERFACE)
  add_library(incontext::torch ALIAS incontext_torch)
  target_link_libraries(incontext_torch INTERFACE incontext::incontext ${libraries})
  target_include_directories(incontext_torch SYSTEM INTERFACE ${directories})
endfunction()
