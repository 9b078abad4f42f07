# Reads one header; prints a line for every public name at namespace scope whose doc block is missing or out of order,
# and for every function and class whose block doesn't say where it runs.
# Not a C++ parser: it follows braces, parentheses, comments and literals, which the house style keeps readable.

function trim(s) {
  gsub(/[ \t]+/, " ", s)
  sub(/^ /, "", s)
  sub(/ $/, "", s)
  return s
}

# Removes a balanced bracket run that starts s; "" if s doesn't start with `open`.
function after_balanced(s, open, close_,    i, c, depth) {
  depth = 0
  for (i = 1; i <= length(s); i++) {
    c = substr(s, i, 1)
    if (c == open) depth++
    if (c == close_ && --depth == 0) return trim(substr(s, i + 1))
  }
  return ""
}

# Removes `template <...>` and `requires ...` heads, however many.
function without_heads(s,    before) {
  do {
    before = s
    if (s ~ /^template ?</) s = after_balanced(s, "<", ">")
    if (s ~ /^requires ?\(/) {
      sub(/^requires ?/, "", s)
      s = after_balanced(s, "(", ")")
    } else if (s ~ /^requires /) {
      sub(/^requires /, "", s)
      sub(/^[A-Za-z_:0-9]+ ?/, "", s)
      if (s ~ /^</) s = after_balanced(s, "<", ">")
    }
    if (s ~ /^(&&|\|\|) ?/) {
      sub(/^(&&|\|\|) ?/, "requires ", s)
      sub(/^requires requires/, "requires", s)
    }
    sub(/^\[\[[^]]*\]\] ?/, "", s)
  } while (s != before)
  return s
}

# The text before the first `(` that isn't inside <...>; the whole text if there is none.
function before_parenthesis(s,    i, c, depth) {
  depth = 0
  for (i = 1; i <= length(s); i++) {
    c = substr(s, i, 1)
    if (c == "<") depth++
    if (c == ">") depth--
    if (c == "(" && depth <= 0) return substr(s, 1, i - 1)
  }
  return s
}

# The public name a declaration introduces, or "" for what introduces none.
function name_of(decl, ended_by,    s, head) {
  s = trim(decl)
  kind = ""
  if (s == "" || s ~ /^(using namespace|static_assert|namespace|friend|extern template|extern)( |\(|$)/) return ""
  if (s ~ /^template ?< ?>/) return ""                       # a specialization documents nothing new
  if (s ~ /^template / && s !~ /^template ?</) return ""     # an explicit instantiation
  gsub(/->/, "@", s)
  gsub(/<=>/, "spaceship", s)
  s = without_heads(s)
  gsub(/>=|<=/, "#", s)
  if (s ~ /^using [A-Za-z_0-9]+( \[\[[^]]*\]\])? ?=/) {
    kind = "alias"
    sub(/^using /, "", s)
    sub(/[^A-Za-z_0-9].*/, "", s)
    return s
  }
  if (s ~ /^using /) return ""
  if (s ~ /^concept /) {
    kind = "concept"
    sub(/^concept /, "", s)
    sub(/[^A-Za-z_0-9].*/, "", s)
    return s
  }
  if (s ~ /^(struct|class|union|enum)( |$)/ && s !~ /\(/) {
    kind = (s ~ /^enum/) ? "enumeration" : "type"
    if (ended_by == ";" && s !~ /=/) return ""               # a forward declaration
    sub(/^enum (class|struct) /, "", s)
    sub(/^(struct|class|union|enum) /, "", s)
    gsub(/\[\[[^]]*\]\] ?/, "", s)
    sub(/^alignas ?\([^)]*\) ?/, "", s)
    head = s
    sub(/[^A-Za-z_0-9:].*/, "", s)
    if (substr(head, length(s) + 1) ~ /^ ?</) return ""      # a partial specialization
    return s
  }
  if (match(s, /(^|[ &*])operator ?([^A-Za-z_ (]+|\(\)|[A-Za-z_][A-Za-z_0-9]*) ?\(/)) {
    kind = "function"
    head = substr(s, RSTART, RLENGTH - 1)
    sub(/^[ &*]/, "", head)
    return trim(head)
  }
  head = before_parenthesis(s)
  if (head != s && head !~ /=/) {
    kind = "function"
    head = trim(head)
    if (head ~ /^(explicit )?[A-Za-z_0-9]+$/ && s ~ /@/) return ""  # a deduction guide
    if (head ~ />$/ ) sub(/ ?<[^<]*>$/, "", head)
    sub(/.*[^A-Za-z_0-9]/, "", head)
    return head
  }
  kind = "variable"
  sub(/[={[].*/, "", s)
  s = trim(s)
  sub(/.*[^A-Za-z_0-9]/, "", s)
  return s
}

function keyword_rank(word,    i) {
  for (i = 1; i <= keywords; i++)
    if (order[i] == word) return i
  return 0
}

function breach(line, text) {
  print FILENAME ":" line ": " text
}

# What the lines of a block say. field[keyword] gets the text of each field.
function read_fields(name, count, lines,    i, line, word, in_formula, after, prose) {
  split("", field)
  word = ""
  in_formula = prose = 0
  for (i = 1; i <= count; i++) {
    line = lines[i]
    if (in_formula || line ~ /\\f\[/) {
      if (unbalanced(line) || (in_formula && line !~ /^    /)) breach(decl_line, name ": a formula is cut in the middle of a term: " trim(line))
      in_formula = (line !~ /\\f\]/)
      prose = 0
      continue
    }
    if (match(line, /^(Source|Shapes|Units|Domain|Limits|Errors|Accuracy|Random|Runs on)(  |$)/)) {
      word = trim(substr(line, 1, RLENGTH))
      line = substr(line, RLENGTH + 1)
    } else if (word != "") {
      if (line !~ /^          [^ ]/ && trim(line) != "") breach(decl_line, name ": a line of \"" word "\" is not indented by ten blanks: " trim(line))
    } else {
      # a line of a single word in the middle of a paragraph
      after = (i < count && lines[i + 1] !~ /^ *$/ && lines[i + 1] !~ /^ *\\f/)
      if (prose && after && line ~ /^[^ ]+$/ && line !~ /[.:]$/) breach(decl_line, name ": a torn line: " line)
      prose = (line ~ /^[^ ]/)
      continue
    }
    while (match(line, /  +(Domain|Limits|Errors|Accuracy|Random|Runs on)  /)) {
      after = substr(line, RSTART, RLENGTH)
      field[word] = field[word] " " substr(line, 1, RSTART - 1)
      line = substr(line, RSTART + RLENGTH)
      word = trim(after)
    }
    field[word] = trim(field[word] " " line)
  }
}

# Whether the braces of one line of a formula do not match.
function unbalanced(line) {
  gsub(/\\[{}]/, "", line)
  return gsub(/\{/, "", line) != gsub(/\}/, "", line)
}

# The paths and sections that a text names must be there.
function check_links(name, text,    link) {
  while (match(text, /(tests|docs)\/[A-Za-z0-9_\/]+(\.(cpp|md|sh|py|cu|awk|txt)(#[a-z0-9_-]+)?)?/)) {
    link = substr(text, RSTART, RLENGTH)
    text = substr(text, RSTART + RLENGTH)
    if (known != "" && !(link in there)) breach(decl_line, name ": there is no " link)
  }
}

# Whether the declaration is of a function that returns one real number.
function returns_real(decl, name,    s) {
  s = without_heads(trim(decl))
  sub(/^(inline |constexpr |INCONTEXT_HD |static |\[\[nodiscard\]\] )+/, "", s)
  return s ~ /^(T|double|float|Scalar<[^<>]*>) [A-Za-z_0-9]+\(/
}

function check_fields(name, decl, count, lines) {
  read_fields(name, count, lines)
  check_links(name, decl_doc)
  if (("Accuracy" in field) && field["Accuracy"] !~ /tests\/|exact|(^| )(as [A-Za-z]|that of|those of|(the|each) map's)/)
    breach(decl_line, name ": Accuracy names no test, is not \"exact\" and gives no reason: " field["Accuracy"])
  if (field["Source"] ~ /derived/ && field["Source"] !~ /docs\/theory\/[a-z_]+\.md#/)
    breach(decl_line, name ": Source is derived, and links no section of docs/theory/: " field["Source"])
  if (kind == "function" && returns_real(decl, name) && !("Units" in field)) breach(decl_line, name ": a real number without Units")
}

function check(decl, ended_by,    name, lines, count, i, text, last, rank, runs_on, rest, at, first) {
  name = name_of(decl, ended_by)
  if (name == "") return
  names_seen++
  if (decl_doc == "" && name in documented) return  # an overload under the block of the first of its name
  if (decl_doc == "") {
    breach(decl_line, name " has no doc block")
    return
  }
  count = split(decl_doc, lines, "\n")
  check_fields(name, decl, count, lines)
  last = 0
  runs_on = ""
  for (i = 1; i <= count; i++) {
    rest = lines[i]
    first = 1
    # a keyword opens a line, or stands after two blanks in the middle of one; two blanks or the end follow it
    while (match(rest, /(Source|Shapes|Units|Domain|Limits|Errors|Accuracy|Random|Runs on)(  |$)/)) {
      at = RSTART
      text = substr(rest, RSTART, RLENGTH)
      sub(/ +$/, "", text)
      if ((first && at == 1) || (at > 2 && substr(rest, at - 2, 2) == "  ")) {
        rank = keyword_rank(text)
        if (rank == last) breach(decl_line, name ": \"" text "\" stands twice in the doc block")
        if (rank < last) breach(decl_line, name ": \"" text "\" after \"" order[last] "\" in the doc block")
        last = rank
        if (text == "Runs on") runs_on = trim(substr(rest, at + RLENGTH))
      }
      rest = substr(rest, at + RLENGTH)
      if (substr(rest, 1, 1) == " ") sub(/^ +/, "  ", rest)
      first = 0
    }
  }
  if (name in documented) return
  if (kind == "function" || kind == "type") {
    if (runs_on != "" && runs_on !~ /^(host \(|(host and device|serial, OpenMP, TBB, CUDA)([.;,:( ]|$))/) breach(decl_line, name ": runs on \"" runs_on "\"?")
  }
  documented[name] = 1
}

function visible(    i) {
  for (i = 1; i <= depth; i++)
    if (scope[i] != "namespace") return 0
  return 1
}

BEGIN {
  keywords = split("Source|Shapes|Units|Domain|Limits|Errors|Accuracy|Random|Runs on", order, "|")
  depth = parens = 0
  decl = doc = ""
  in_comment = continued = remainder = 0
  while (known != "" && (getline at < known) > 0) there[at] = 1
}

{
  line = $0
  if (continued) {
    continued = (line ~ /\\$/)
    next
  }
  if (!in_comment && line ~ /^[ \t]*#/) {
    continued = (line ~ /\\$/)
    doc = ""
    next
  }
  if (!in_comment && line ~ /^[ \t]*\/\/\//) {
    text = line
    sub(/^[ \t]*\/\/\/[ ]?/, "", text)
    doc = doc (doc == "" ? "" : "\n") text
    if (trim(text) == "") doc = doc " "
    next
  }
  if (line ~ /^[ \t]*$/) doc = ""
  # literals first, so that a quote in a comment or a slash in a string does no harm
  gsub(/\\\\/, "", line)
  gsub(/\\"/, "", line)
  gsub(/'[^']'/, "0", line)
  gsub(/"[^"]*"/, "0", line)
  if (!in_comment) gsub(/\/\*[^*]*\*\//, "", line)
  if (in_comment) {
    if (!match(line, /\*\//)) next
    line = substr(line, RSTART + 2)
    in_comment = 0
  }
  if (match(line, /\/\*/) && !match(substr(line, 1, RSTART), /\/\//)) {
    match(line, /\/\*/)
    line = substr(line, 1, RSTART - 1)
    in_comment = 1
  }
  sub(/\/\/.*/, "", line)
  n = length(line)
  for (i = 1; i <= n; i++) {
    c = substr(line, i, 1)
    if (!visible()) {
      if (c == "{") scope[++depth] = "body"
      if (c == "}") {
        if (scope[depth] == "paren_body" || scope[depth] == "requires") decl = decl " "
        depth--
      }
      continue
    }
    if (decl == "" && c !~ /[ \t;}]/ && !remainder) {
      decl_line = FNR
      decl_doc = doc
      doc = ""
    }
    if (c == "(") parens++
    if (c == ")") parens--
    if (c == "{") {
      if (parens > 0) {
        scope[++depth] = "paren_body"
      } else if (remainder) {
        scope[++depth] = "body"
      } else if (trim(decl) ~ /(^| )namespace( |$)/ && trim(decl) !~ /^using/) {
        name = trim(decl)
        public_space = (name ~ /namespace [A-Za-z_]/ && name !~ / detail$/ && name !~ /::detail$/ && name !~ / detail::/)
        scope[++depth] = public_space ? "namespace" : "hidden"
        decl = ""
      } else if (trim(decl) ~ /requires ?(\([^{]*\))?$/) {
        scope[++depth] = "requires"
      } else {
        check(decl, "{")
        remainder = (kind != "function")
        decl = ""
        scope[++depth] = "body"
      }
    } else if (c == "}") {
      depth--
      decl = ""
    } else if (c == ";" && parens == 0) {
      if (!remainder) check(decl, ";")
      remainder = 0
      decl = ""
    } else if (!remainder && (decl != "" || c !~ /[ \t]/)) {
      decl = decl c
    }
  }
  if (decl != "") decl = decl " "
}

END {
  if (depth != 0 || parens != 0) breach(FNR, "the rule lost count of braces here (" depth ", " parens ")")
  if (names_seen == 0 && FILENAME !~ /(host_device|floating_point)\.hpp|\/simulate\/(engine\/|trials\/|run\.hpp)|incontext\/[a-z]+\.hpp/) breach(1, "no public name: is this header detail?")
}
