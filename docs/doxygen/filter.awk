# Doxygen's input filter: gives a header back with its comments in Doxygen's commands, line by line, so that the numbers
# of lines in warnings are the header's.
#   Source, Shapes, ... Runs on    labeled paragraphs
#   lines indented by four blanks  code
#   the block above a namespace    the file's description
#   namespace incontext::room {    the names in it join the group of the room
function room(    path, part) {
  path = FILENAME
  sub(/.*incontext\//, "", path)
  split(path, part, "/")
  return part[1] == "simulate" && part[2] !~ /\./ ? "simulate_" part[2] : part[1]
}

# Text as it is to be read: outside of formulas nothing is a command, a tag or a link; `...` is code.
function plain(text,    out, end, opens) {
  out = ""
  while (text != "") {
    if (formula) {
      end = match(text, /\\f[]$})]/) ? RSTART + 2 : length(text)
      if (RSTART) formula = 0
      out = out substr(text, 1, end)
    } else {
      opens = match(text, /\\f[[${(]/)
      end = opens ? opens - 1 : length(text)
      out = out escaped(substr(text, 1, end))
      if (opens) {
        formula = 1
        out = out substr(text, opens, 3)
        end = opens + 2
      }
    }
    text = substr(text, end + 1)
  }
  return out
}

function escaped(text,    out) {
  gsub(/[<>&#@%]/, "\\\\&", text)
  gsub(/::/, "\\::", text)
  gsub(/ \. /, " \\&middot; ", text)  # a product of vectors, and no end of a sentence
  out = ""
  while (match(text, /`[^`]+`/)) {
    out = out substr(text, 1, RSTART - 1) "<code>" substr(text, RSTART + 1, RLENGTH - 2) "</code>"
    text = substr(text, RSTART + RLENGTH)
  }
  return out text
}

# The keyword at the start of the text, followed by two blanks or nothing.
function keyword(text) {
  return match(text, /^(Source|Shapes|Units|Domain|Limits|Errors|Accuracy|Random|Runs on)(  |$)/) ? RLENGTH : 0
}

# One line of a field; further keywords of the line begin their own paragraphs.
function field(text,    length_, name, rest, at) {
  length_ = keyword(text)
  name = substr(text, 1, length_)
  rest = substr(text, length_ + 1)
  sub(/ +$/, "", name)
  sub(/^ +/, "", rest)
  at = match(rest, /  (Source|Shapes|Units|Domain|Limits|Errors|Accuracy|Random|Runs on)  /)
  if (at == 0) return "\\field{" name "} " plain(rest)
  return "\\field{" name "} " plain(substr(rest, 1, at - 1)) " " field(substr(rest, at + 2))
}

# Text of one /// line in Doxygen's words. code, fields and formula are what the lines before have opened.
function rewritten(text) {
  if (code && text !~ /^    / && text !~ /^ *$/) {
    code = 0
    return "\\endcode " rewritten(text)
  }
  if (code) return substr(text, 5)
  if (!fields && !formula && text ~ /^    /) {
    code = 1
    return "\\code{.cpp} " substr(text, 5)
  }
  if (keyword(text)) {
    fields = 1
    return field(text)
  }
  return plain(text)
}

# The lines held back: a blank one, which gives its place to \file, and the block after it.
function flush_block(as_file,    i, text) {
  if (blank) print as_file && held ? "/// \\file " FILENAME : ""
  blank = 0
  code = fields = formula = 0
  for (i = 1; i <= held; i++) {
    text = rewritten(block[i])
    if (i == held && code) text = text " \\endcode"
    print indent "/// " text
  }
  held = 0
}

/^[ \t]*\/\/\/([^<]|$)/ {
  match($0, /^[ \t]*/)
  indent = substr($0, 1, RLENGTH)
  text = $0
  sub(/^[ \t]*\/\/\/ ?/, "", text)
  block[++held] = text
  next
}

/^namespace incontext[A-Za-z_:]* \{/ {
  flush_block(1)
  name = $2
  if (name !~ /detail/) {
    print $0 "  /// \\room{" room() "}"
    open[name] = 1
  } else print
  next
}

/^\}  \/\/ namespace incontext/ {
  flush_block(0)
  name = $4
  print (open[name] ? "/** \\endroom */ " : "") $0
  next
}

/^$/ {
  flush_block(held)
  blank = 1
  next
}

{
  flush_block(0)
  print
}

END { flush_block(0) }
