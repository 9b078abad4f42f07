# docs: the API reference, build/docs/html/index.html, where Doxygen and a local MathJax (Debian: libjs-mathjax) are found.
find_program(INCONTEXT_DOXYGEN doxygen)
find_path(INCONTEXT_MATHJAX MathJax.js PATHS /usr/share/javascript/mathjax /usr/share/mathjax NO_DEFAULT_PATH)
mark_as_advanced(INCONTEXT_DOXYGEN INCONTEXT_MATHJAX)
if(NOT EXISTS "${PROJECT_SOURCE_DIR}/docs")
  return()  # Python's source archive has no docs
endif()
if(INCONTEXT_DOXYGEN)
  set(INCONTEXT_REFERENCE "${PROJECT_BINARY_DIR}/docs")
  configure_file("${PROJECT_SOURCE_DIR}/docs/doxygen/Doxyfile.in" "${INCONTEXT_REFERENCE}/Doxyfile" @ONLY)
endif()
if(INCONTEXT_DOXYGEN AND INCONTEXT_MATHJAX)
  add_custom_target(docs COMMAND "${INCONTEXT_DOXYGEN}" "${INCONTEXT_REFERENCE}/Doxyfile"
                         COMMAND "${CMAKE_COMMAND}" -E create_symlink "${INCONTEXT_MATHJAX}" "${INCONTEXT_REFERENCE}/html/mathjax"
                         COMMENT "The API reference: ${INCONTEXT_REFERENCE}/html/index.html" VERBATIM)
endif()
