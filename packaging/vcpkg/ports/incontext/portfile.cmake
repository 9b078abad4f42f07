# Tried, on Debian 12: the scripts of vcpkg run this file with the packages of Debian in the place of those of
# vcpkg, and a project finds what it installs; vcpkg.json satisfies vcpkg's schema. Not tried: the program vcpkg itself,
# the dependencies as vcpkg builds them (Eigen 5 among them), Windows, macOS.
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
        -DINCONTEXT_TORCH=OFF
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/incontext)

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug" "${CURRENT_PACKAGES_DIR}/lib" "${CURRENT_PACKAGES_DIR}/share/licenses")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
file(INSTALL "${CURRENT_PORT_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
