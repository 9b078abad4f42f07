# Tried, on Debian 12: vcpkg 2026-07-27 installs it, with vcpkg's Eigen 5.0.1 and random123 and Debian's Boost, without
# a warning of --enforce-port-checks. A project finds it. format-manifest, x-add-version and x-ci-verify-versions pass.
# Not tried: Boost as vcpkg builds it, Windows, macOS.
set(VCPKG_BUILD_TYPE release) # headers only

vcpkg_download_distfile(ARCHIVE
    URLS "https://incontext.invalid/incontext-${VERSION}-source.tar.gz"
    FILENAME "incontext-${VERSION}-source.tar.gz"
    SHA512 00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000
)
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${ARCHIVE}")

vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        -DINCONTEXT_BUILD_PROGRAMS=OFF
        -DINCONTEXT_BUILD_TESTS=OFF
        -DINCONTEXT_BUILD_BENCHMARKS=OFF
        -DINCONTEXT_CUDA=OFF
        -DINCONTEXT_MPI=OFF
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/incontext)

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug" "${CURRENT_PACKAGES_DIR}/lib" "${CURRENT_PACKAGES_DIR}/share/licenses")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
file(INSTALL "${CURRENT_PORT_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
