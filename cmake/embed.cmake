# cmake -D OUTPUT=file.cpp -D "FILES=a.toml;b.json" -P embed.cmake: a source with the files' names and texts, for
# examples/verify/claims_file.cpp.
set(_source "#include \"examples/verify/claims_file.hpp\"\n\n")
string(APPEND _source "const std::vector<incontext::examples::verify::ClaimsText>& incontext::examples::verify::embedded_files() {\n")
string(APPEND _source "  static const std::vector<ClaimsText> files{\n")
foreach(_file IN LISTS FILES)
  get_filename_component(_name "${_file}" NAME)
  file(READ "${_file}" _text)
  string(APPEND _source "    {\"${_name}\", R\"_embedded_(${_text})_embedded_\"},\n")
endforeach()
string(APPEND _source "  };\n  return files;\n}\n")
file(WRITE "${OUTPUT}" "${_source}")
