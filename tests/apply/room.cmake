# The drivers for CUDA, compiled by nvcc and run where there is a GPU: by scripts/gpu-check, and as a slow test, because
# nvcc takes minutes for them.
if(NOT TARGET incontext::simulate_cuda)
  return()
endif()
add_executable(test_apply_device EXCLUDE_FROM_ALL "${CMAKE_CURRENT_LIST_DIR}/device.cu")
target_link_libraries(test_apply_device PRIVATE incontext::simulate_cuda incontext_warnings)
target_include_directories(test_apply_device PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
set_target_properties(test_apply_device PROPERTIES JOB_POOL_COMPILE heavy)
if(INCONTEXT_SLOW_TESTS)
  set_target_properties(test_apply_device PROPERTIES EXCLUDE_FROM_ALL OFF)
  add_test(NAME gpu/apply COMMAND test_apply_device)
  set_tests_properties(gpu/apply PROPERTIES LABELS gpu SKIP_RETURN_CODE 77 RESOURCE_LOCK gpu TIMEOUT ${INCONTEXT_HANG_GUARD})
endif()
