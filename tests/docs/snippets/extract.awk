# The snippets of headers, code indented by four blanks in a /// block, as functions of one source file.
function close_snippet() {
  if (open) print "}"
  open = 0
}
BEGIN {
  print "#include \"tests/docs/snippets/prelude.hpp\"\n\nnamespace incontext::snippets {\n"
}
FNR == 1 {
  close_snippet()
  formula = fields = 0
}
!/^ *\/\/\// {
  close_snippet()
  formula = fields = 0
  next
}
/\\f\[/ { formula = 1 }
/^ *\/\/\/ [A-Z][a-z]+( on)?  / { fields = 1 }
!formula && !fields && /^ *\/\/\/     [^ ]/ {
  if (!open) {
    count++
    print "void snippet_" count "() {"
    open = 1
  }
}
open && !/^ *\/\/\/     / { close_snippet() }
open {
  line = $0
  sub(/^ *\/\/\/     /, "", line)
  print "#line " FNR " \"" FILENAME "\"\n  " line
}
/\\f\]/ { formula = 0 }
END {
  close_snippet()
  print "}  // namespace incontext::snippets"
}
