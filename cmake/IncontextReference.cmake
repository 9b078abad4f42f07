# docs: the site of the documentation, build/docs/site/index.html, where Doxygen, Python, cmark-gfm and a local KaTeX
# (Debian: libjs-katex) are found. It has the reference of Python where INCONTEXT_DOCS_PYTHON can import the package.
find_program(INCONTEXT_DOXYGEN doxygen)
find_program(INCONTEXT_CMARK_GFM cmark-gfm)
find_path(INCONTEXT_KATEX katex.min.js PATHS /usr/share/javascript/katex NO_DEFAULT_PATH)
set(INCONTEXT_DOCS_PYTHON "" CACHE FILEPATH
    "A Python with the package incontext, for the site; empty: the one that the environment names, or that builds the site")
mark_as_advanced(INCONTEXT_DOXYGEN INCONTEXT_CMARK_GFM INCONTEXT_KATEX INCONTEXT_DOCS_PYTHON)
if(NOT EXISTS "${PROJECT_SOURCE_DIR}/docs")
  return()  # Python's source archive has no docs
endif()
set(INCONTEXT_SITE "${PROJECT_BINARY_DIR}/docs/site")
if(INCONTEXT_DOXYGEN)
  configure_file("${PROJECT_SOURCE_DIR}/docs/doxygen/Doxyfile.in" "${PROJECT_BINARY_DIR}/docs/Doxyfile" @ONLY)
endif()
find_package(Python3 COMPONENTS Interpreter QUIET)
if(INCONTEXT_DOXYGEN AND INCONTEXT_CMARK_GFM AND INCONTEXT_KATEX AND Python3_Interpreter_FOUND)
  set(_build "${CMAKE_COMMAND}" -E env "CMARK_GFM=${INCONTEXT_CMARK_GFM}" "KATEX=${INCONTEXT_KATEX}")
  if(INCONTEXT_DOCS_PYTHON)
    list(APPEND _build "INCONTEXT_DOCS_PYTHON=${INCONTEXT_DOCS_PYTHON}")
  endif()
  list(APPEND _build "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/docs/site/build.py")
  set(_where "${PROJECT_SOURCE_DIR}" "${INCONTEXT_SITE}" "The ledger of claims=${PROJECT_BINARY_DIR}/ledger.html"
             "The explorer=${PROJECT_BINARY_DIR}/docs/explorer/explorer.html")
  add_custom_target(docs COMMAND "${CMAKE_COMMAND}" -E rm -rf "${INCONTEXT_SITE}"
                         COMMAND ${_build} frame ${_where}
                         COMMAND "${INCONTEXT_DOXYGEN}" "${PROJECT_BINARY_DIR}/docs/Doxyfile"
                         COMMAND ${_build} pages ${_where}
                         COMMENT "The documentation: ${INCONTEXT_SITE}/index.html" VERBATIM)
endif()
