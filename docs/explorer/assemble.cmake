# Puts the style, the script and the module into the page: cmake -DPAGE=... -DMODULE=... -DOUTPUT=... -P assemble.cmake
file(READ "${PAGE}/page.html" _page)
foreach(_part page.css page.js)
  file(READ "${PAGE}/${_part}" _text)
  string(REPLACE "/* ${_part} */" "${_text}" _page "${_page}")
endforeach()
file(READ "${MODULE}" _text)
string(REPLACE "/* explorer.js */" "${_text}" _page "${_page}")
file(WRITE "${OUTPUT}" "${_page}")
