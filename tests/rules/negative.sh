#!/bin/bash
# Power check of the rules: each must refuse a tree with one fault, name the fault, and accept the tree without it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# umbrella BASE ROOM NAME...: the umbrella header of a room with these headers
umbrella() {
  local base=$1 room=$2
  shift 2
  echo '#pragma once' >"$work/tree/$base/incontext/$room.hpp"
  [ $# -eq 0 ] || printf "#include \"incontext/$room/%s.hpp\"\n" "$@" >>"$work/tree/$base/incontext/$room.hpp"
}

# A small tree that keeps every rule.
fresh() {
  rm -rf "$work/tree"
  mkdir -p "$work/tree"/{include/incontext/{core,scoring,random,regression,statistics},cuda/incontext/simulate}
  cat >"$work/tree/include/incontext/core/good.hpp" <<'H'
#pragma once

#include <cmath>

#define INCONTEXT_TWICE(x) \
  ((x) + (x))

namespace incontext {

class Later;
struct Defined;

/// A constant; "quoted { text" and 'c' do no harm.
inline constexpr double half[] = {0.5, 0.25};

/// What adds.
template <class T>
concept Adds = requires(T a) {
  { a + a };
} && true;

namespace detail {
struct Hidden {};
int hidden(int x) { return x; }
}  // namespace detail

/// A type. Source of nothing, and Limits are not mentioned.
///
/// Domain    everywhere.         Limits    none.
/// Errors    none.               Accuracy  exact.
/// Runs on   host and device
struct Defined {
  double undocumented_member = 1.0;
  double operator()(double x) const { return x; }
};

/// Either.
enum class Either { one, other };

/// \f[ x + 1 \f]
///
/// Source    derived: docs/theory/one.md#one; \f$ x \f$ as docs/page.md.
/// Units     of x.
/// Accuracy  1 eps: tests/docs/one.cpp.
template <class T>
  requires(sizeof(T) > 2) && Adds<T>
constexpr T increment(const T& x, T (*map)(T) = {}) { return map ? map(x) : x + T(1); }

template <class T>
T increment(T x, int times) {
  return x + T(times);
}

/// Compares.
/// Runs on   host and device
constexpr bool operator==(const Later&, const Later&) { return '{' == '{' && true; }

/* a block comment with { in it */
/// Another name.
using Again = Defined;

template <class T>
Defined(T) -> Defined;

}  // namespace incontext
H
  sed -i '2i #include "incontext/core/floating_point.hpp"' "$work/tree/include/incontext/core/good.hpp"
  printf '#pragma once\n' >"$work/tree/include/incontext/core/floating_point.hpp"
  local room
  for room in include/incontext/{scoring,random,regression,statistics} cuda/incontext/simulate; do
    cp "$work/tree/include/incontext/core/good.hpp" "$work/tree/$room/good.hpp"
    umbrella "${room%%/*}" "${room##*/}" good
  done
  umbrella include core floating_point good
  printf '```cpp\nint main() {}\n```\n```cpp\nint main() { return 0; }\n```\n' >"$work/tree/README.md"
  mkdir -p "$work/tree/tests/consume" "$work/tree/tests/docs" "$work/tree/docs"
  printf '# Model\n\n```cpp\nint main() { return 0; }\n```\n' >"$work/tree/docs/torch.md"
  printf 'One:\n```cpp\nint main() { puts("1"); }\n```\n\n```\n1\n```\n' >"$work/tree/docs/page.md"
  mkdir "$work/tree/docs/theory"
  printf '# One\n' >"$work/tree/docs/theory/one.md"
  printf '# Index\n\n[a page](page.md), [the other](torch.md#model), [theory](theory/one.md), [more](first.md)\n' \
    >"$work/tree/docs/index.md"
  printf '// The quoted one.\nint main() { puts("1"); }\n' >"$work/tree/tests/docs/one.cpp"
  echo 1 >"$work/tree/tests/docs/one.txt"
  mkdir -p "$work/tree/examples/first_steps"
  for room in core scoring random regression statistics simulate; do
    seq -f "// $room %.0f" 15 >"$work/tree/examples/first_steps/$room.cpp"
    echo "$room" >"$work/tree/examples/first_steps/$room.txt"
    printf '```cpp\n%s\n```\n\n```\n%s\n```\n' "$(seq -f "// $room %.0f" 2 15)" "$room" >>"$work/tree/docs/first.md"
  done
  printf '// The program.\nint main() {}\n' >"$work/tree/tests/consume/simulate.cpp"
  printf '// The other.\nint main() { return 0; }\n' >"$work/tree/tests/consume/torch.cpp"
}

# The files of the way in, in the small tree.
front_door() {
  fresh
  mkdir -p "$work/tree"/{.ci,scripts}
  printf '## Two commands on a machine\n\n```sh\nscripts/verify   # first\nscripts/test\n```\n' >>"$work/tree/README.md"
  printf '```sh\nscripts/verify\nscripts/test  # then\n```\n' >"$work/tree/docs/install.md"
  printf '# Why\nset -euo pipefail\ncd ..\nscripts/verify\nscripts/test\nmore\n' >"$work/tree/.ci/run"
  for script in verify test; do printf 'source scripts/setup.sh\n' >"$work/tree/scripts/$script"; done
  chmod +x "$work/tree"/{.ci/run,scripts/verify,scripts/test}
}

# accepts RULE
accepts() {
  if ! output=$(bash "$here/$1.sh" "$work/tree" 2>&1); then
    echo "FAILED: $1 refuses the good tree:"
    echo "$output"
    failures=$((failures + 1))
  fi
}

# refuses RULE PATTERN
refuses() {
  local status=0
  output=$(bash "$here/$1.sh" "$work/tree" 2>&1) || status=$?
  if [ "$status" -ne 1 ] || ! grep -qE -- "$2" <<<"$output"; then
    echo "FAILED: $1 should refuse with \"$2\", ended with $status:"
    echo "$output"
    failures=$((failures + 1))
  fi
}

# header PATH BODY: one more header, guarded
header() { printf '#pragma once\n%b\n' "$2" >"$work/tree/$1"; }
doc='/// Doc.\n'

for rule in include_arrows umbrellas declarations_first plain_headers doc_blocks floating_point memory_home tracked_words quoted_programs pages; do
  fresh
  accepts "$rule"
done

# ---- includes
fresh; header include/incontext/scoring/a.hpp '#include "incontext/regression/b.hpp"'
refuses include_arrows 'scoring/a.hpp:2: scoring must not include regression'
fresh; header include/incontext/core/a.hpp '#include <incontext/scoring/b.hpp>'
refuses include_arrows 'core must not include scoring'
fresh; header include/incontext/regression/a.hpp '#include "incontext/statistics/b.hpp"'
refuses include_arrows 'regression must not include statistics'
fresh; header include/incontext/regression/a.hpp '#include "incontext/simulate/b.hpp"'
refuses include_arrows 'regression must not include simulate'
fresh; header include/incontext/scoring/a.hpp '#include <Eigen/Core>'
refuses include_arrows 'scoring must not include Eigen/Core'
fresh; header include/incontext/random/a.hpp '#include <boost/math/special_functions/gamma.hpp>'
refuses include_arrows 'random must not include boost'
fresh; header include/incontext/regression/a.hpp '  #  include <thrust/transform.h>'
refuses include_arrows 'regression must not include thrust'
fresh; header include/incontext/regression/a.hpp '#include <cuda_runtime.h>'
refuses include_arrows 'regression must not include cuda_runtime'
fresh; header include/incontext/regression/a.hpp '#include "b.hpp"'
refuses include_arrows 'regression must not include b.hpp'
fresh; header include/incontext/scoring/a.hpp '#include <torch/torch.h>'
refuses include_arrows 'scoring must not include torch'
fresh; header include/incontext/regression/a.hpp '#include "incontext/adapters/torch.hpp"'
refuses include_arrows 'regression must not include adapters'
fresh; mkdir "$work/tree/include/incontext/scoring/attic"; header include/loose.hpp ''
refuses include_arrows 'outside of every room'
fresh; mkdir "$work/tree/include/incontext/attic"; header include/incontext/attic/a.hpp ''
refuses include_arrows "room 'attic' is not known"
fresh; mkdir "$work/tree/include/incontext/simulate"; header include/incontext/simulate/a.hpp ''
refuses include_arrows "room 'simulate' is not known"

fresh; header include/incontext/regression/a.hpp '#include "incontext/scoring/detail/b.hpp"'
refuses include_arrows 'regression/a.hpp:2: regression must not include the detail/ of scoring'
fresh; header cuda/incontext/simulate/a.hpp '#include "incontext/regression/detail/b.hpp"'
refuses include_arrows 'simulate/a.hpp:2: simulate must not include the detail/ of regression'
fresh; mkdir "$work/tree/cuda/incontext/apply"; header cuda/incontext/apply/a.hpp '#include "incontext/simulate/detail/b.hpp"'
refuses include_arrows 'apply/a.hpp:2: apply must not include the detail/ of simulate'
fresh; mkdir "$work/tree/cuda/incontext/simulate/trials"
header cuda/incontext/simulate/trials/a.hpp '#include "incontext/simulate/detail/b.hpp"'
refuses include_arrows 'trials/ must not include incontext/simulate/detail/b.hpp'
fresh; header include/incontext/regression/a.hpp 'inline int f() { return scoring::detail::f(); }'
refuses include_arrows 'regression/a.hpp:2: regression must not name scoring::detail'
fresh; header include/incontext/scoring/a.hpp '#include "incontext/scoring/detail/b.hpp"\n// regression::detail\nint x = scoring::detail::x;'
accepts include_arrows
fresh; mkdir "$work/tree/cuda/incontext/simulate"/{engine,trials}
header cuda/incontext/simulate/trials/a.hpp '#include "incontext/simulate/good.hpp"'
refuses include_arrows 'trials/ must not include incontext/simulate/good.hpp'
fresh; mkdir "$work/tree/cuda/incontext/simulate"/{engine,trials}
header cuda/incontext/simulate/engine/a.hpp '#include "incontext/simulate/trials/b.hpp"'
refuses include_arrows 'engine/ must not include incontext/simulate/trials/b.hpp'
fresh; mkdir "$work/tree/cuda/incontext/simulate"/{engine,types}
header cuda/incontext/simulate/types/a.hpp '#include "incontext/simulate/engine/b.hpp"'
refuses include_arrows 'types/ must not include incontext/simulate/engine/b.hpp'
fresh; mkdir "$work/tree/cuda/incontext/simulate/types"
header cuda/incontext/simulate/types/a.hpp '#if defined(INCONTEXT_SIMULATE_CUDA)\n#endif'
refuses include_arrows 'types/a.hpp:2:.*must not depend on a back end'
fresh; mkdir "$work/tree/examples/program"
header examples/program/simulator.cpp '#include <incontext/simulate/a.hpp>'
header examples/program/a.cpp '#include <incontext/simulate/types/a.hpp>'
accepts include_arrows
header examples/program/a.cpp '#include <incontext/simulate/a.hpp>'
refuses include_arrows 'examples/program/a.cpp:2: only simulator.cpp may include'

# ---- umbrellas
fresh; header include/incontext/scoring/a.hpp ''
refuses umbrellas 'scoring.hpp:1: does not include incontext/scoring/a.hpp'
fresh; echo '#include "incontext/core/good.hpp"' >>"$work/tree/include/incontext/scoring.hpp"
refuses umbrellas 'scoring.hpp:1: includes what is no header of the room: incontext/core/good.hpp'
fresh; rm "$work/tree/cuda/incontext/simulate.hpp"
refuses umbrellas 'cuda/incontext/simulate.hpp:1: the umbrella header of simulate does not exist'
fresh; header include/incontext/loose.hpp ''
refuses umbrellas 'loose.hpp:1: no room has this name'

# ---- declarations first
# helpers LINES: a block of namespace detail with so many lines, each of which ends a function
helpers() { printf 'namespace detail {\\n'; printf '}\\n%.0s' $(seq "$1"); printf '}  // namespace detail\\n'; }
fresh; header include/incontext/regression/a.hpp "namespace incontext::regression {\\n$(helpers 21)${doc}double f(double x);\\n}"
refuses declarations_first 'regression/a.hpp:3: 21 lines of helpers before a documented name'
fresh; header include/incontext/regression/a.hpp "$(helpers 20)${doc}double f(double x);"
accepts declarations_first
fresh; header include/incontext/regression/a.hpp "${doc}struct S {};\\n$(helpers 61)${doc}double f(double x);"
refuses declarations_first 'regression/a.hpp:4: 61 lines of helpers before a documented name'
fresh; header cuda/incontext/simulate/a.hpp "/// Of the room.\\nnamespace incontext::simulate {\\n$(helpers 61)${doc}struct S {};"
refuses declarations_first 'simulate/a.hpp:4: 61 lines'
fresh; header include/incontext/regression/a.hpp "${doc}struct S {};\\n$(helpers 60)${doc}double f(double x);\\n$(helpers 99)double f(double x) { return x; }"
accepts declarations_first
fresh; header include/incontext/regression/a.hpp 'namespace detail {\n}'
refuses declarations_first 'regression/a.hpp:2: the rule did not find the end'
fresh; mkdir "$work/tree/include/incontext/regression/detail"
header include/incontext/regression/detail/a.hpp "$(helpers 61)${doc}double f(double x);"
accepts declarations_first

# ---- quoted programs
fresh; echo 'int main() { return 1; }' >>"$work/tree/tests/consume/simulate.cpp"
refuses quoted_programs 'its first program is not'
fresh; echo 'int other;' >>"$work/tree/tests/consume/torch.cpp"
refuses quoted_programs 'consume/torch.cpp is not in it'
fresh; echo 'no program' >"$work/tree/README.md"
refuses quoted_programs 'no .*cpp block'
fresh; echo 'int other;' >>"$work/tree/tests/docs/one.cpp"
refuses quoted_programs 'docs/one.cpp: no page'
fresh; echo 2 >"$work/tree/tests/docs/one.txt"
refuses quoted_programs 'docs/one.txt: no page'
fresh; echo '// scoring 16' >>"$work/tree/examples/first_steps/scoring.cpp"
refuses quoted_programs 'first_steps/scoring.cpp: no page'
fresh; rm "$work/tree/examples/first_steps/scoring.cpp"
refuses quoted_programs 'first_steps/scoring.cpp:1: include/incontext/scoring/ has no first program'
fresh; sed -i '$d' "$work/tree/examples/first_steps/scoring.cpp"
refuses quoted_programs 'first_steps/scoring.cpp:14: not of 15 to 30 lines'

# ---- pages
fresh; printf '\n%.0s' {1..131} >"$work/tree/README.md"
refuses pages 'README.md:131: over 130 lines'
fresh; echo 'See [this](docs/other.md).' >>"$work/tree/README.md"
refuses pages 'README.md:7: a dead link: docs/other.md'
fresh; echo 'See [this](#gone).' >>"$work/tree/docs/page.md"
refuses pages 'docs/page.md:9: no such heading: #gone'
fresh; echo '[Model](torch.md#models)' >>"$work/tree/docs/index.md"
refuses pages 'docs/index.md:4: no such heading'
fresh; echo '# Alone' >"$work/tree/docs/alone.md"
refuses pages 'docs/alone.md:1: cannot be reached'
fresh; rm "$work/tree/docs/index.md"
refuses pages 'docs/index.md:1: does not exist'
# spec LINK: the tree with reference values of two cases, one of this spec
spec() {
  fresh
  mkdir -p "$work/tree/tests/oracles" "$work/tree/docs/theory"
  printf '# Laws\n\n## Two levels\n\n[index](../index.md)\n' >"$work/tree/docs/theory/laws.md"
  echo '[theory](theory/laws.md)' >>"$work/tree/docs/index.md"
  printf '   "kind": "a",\n   "spec": "%s",\n' docs/theory/laws.md#two-levels "$1" >"$work/tree/tests/oracles/scoring.json"
}
spec docs/theory/laws.md#laws
accepts pages
for link in docs/theory/laws.md docs/theory/other.md#laws docs/torch.md#model 4.1 laws.md#laws; do
  spec "$link"
  refuses pages "scoring.json:4: no section of docs/theory/: $link"
done
spec docs/theory/laws.md#three-levels
refuses pages 'scoring.json:4: no such heading: docs/theory/laws.md#three-levels'
spec docs/theory/laws.md#laws; echo '   "kind": "b",' >>"$work/tree/tests/oracles/scoring.json"
refuses pages 'scoring.json:1: a case without a spec'
fresh; printf '```\n[no link](nowhere.md)\n```\n' >>"$work/tree/docs/page.md"
accepts pages

# ---- plain headers
fresh; header include/incontext/scoring/a.hpp 'inline Eigen::VectorXd f();'
refuses plain_headers 'scoring/a.hpp:2:.*not in a room that runs on the device'
fresh; header include/incontext/random/a.hpp 'inline std::vector<int> f();'
refuses plain_headers 'not in a room that runs on the device'
fresh; header include/incontext/random/a.hpp 'inline void f() { throw 1; }'
refuses plain_headers 'an exception on the device side'
fresh; header include/incontext/regression/a.hpp "// $(printf '%0120d' 0)"
refuses plain_headers 'over 120 characters'
fresh; header include/incontext/regression/a.hpp "$(printf '//\\n%.0s' {1..250})"
refuses plain_headers 'over 250 lines'
fresh; echo 'namespace incontext {}' >"$work/tree/include/incontext/regression/a.hpp"
refuses plain_headers 'no #pragma once'

fresh; header include/incontext/regression/a.hpp 'struct S { mutable int cache; };'
refuses plain_headers 'regression/a.hpp:2:.*not safe to share between threads'
fresh; header cuda/incontext/simulate/a.hpp 'int* f(const int* x) { return const_cast<int*>(x); }'
refuses plain_headers 'simulate/a.hpp:2:.*not safe to share between threads'

# ---- floating-point options
fresh; header include/incontext/regression/a.hpp '#include <cmath>'
refuses floating_point 'regression/a.hpp:1: does not include'
fresh; header cuda/incontext/simulate/a.hpp '#include "incontext/simulate/b.hpp"'
header cuda/incontext/simulate/b.hpp '#include "incontext/simulate/a.hpp"'
refuses floating_point 'cuda/incontext/simulate/b.hpp:1: does not include'
fresh; header include/incontext/regression/a.hpp '// #include "incontext/core/floating_point.hpp"'
refuses floating_point 'regression/a.hpp:1: does not include'
fresh; header include/incontext/regression/a.hpp '#include "incontext/regression/b.hpp"'
header include/incontext/regression/b.hpp '  #  include <incontext/scoring/good.hpp>'
accepts floating_point
fresh; rm "$work/tree/include/incontext/core/floating_point.hpp"
refuses floating_point 'does not exist'

# ---- documentation; each case a different kind of name
undocumented() {
  fresh; header include/incontext/regression/a.hpp "namespace incontext::regression {\\n$1\\n}"
  refuses doc_blocks "regression/a.hpp:[0-9]+: $2"
}
undocumented 'double f(double x);' 'f has no doc block'
undocumented 'template <class T>\nT f(T x) { return x; }' 'f has no doc block'
undocumented 'template <class T>\n  requires std::integral<T>\nT f(T x) { return x; }' 'f has no doc block'
undocumented "$doc"'double f(double x);\ndouble g(double x);' 'g has no doc block'
undocumented "$doc"'\ndouble f(double x);' 'f has no doc block'
undocumented '// Doc. Runs on   host\ndouble f(double x);' 'f has no doc block'
undocumented 'struct S {\n  int x;\n};' 'S has no doc block'
undocumented 'template <Real T>\nclass C : public B<T> {};' 'C has no doc block'
undocumented 'enum class E { a };' 'E has no doc block'
undocumented 'template <class T>\nconcept K = requires(T t) { t; };' 'K has no doc block'
undocumented 'template <class T>\nusing A = B<T>;' 'A has no doc block'
undocumented 'inline constexpr double c = 1.0;' 'c has no doc block'
undocumented 'bool operator<(const S& a, const S& b);' 'operator< has no doc block'
undocumented "namespace detail { int hidden(); }\\ndouble f(double x);" 'f has no doc block'
undocumented '/// Doc.\n/// Runs on   hots\ndouble f(double x);' 'f: runs on "hots"'
undocumented '/// Doc.\n/// Errors    e.\n/// Source    s.\ndouble f(double x);' \
  'f: "Source" after "Errors"'
undocumented '/// Doc.\n/// Limits    l.         Domain    d.\ndouble f(double x);' \
  'f: "Domain" after "Limits"'
undocumented '/// Doc.\n/// Units     u.\n/// Units     u.\ndouble f(double x);' \
  'f: "Units" stands twice'
block() { undocumented "/// Doc.\n///\n$1\nvoid f(double x);" "f: $2"; }
block '/// Accuracy  good.' 'Accuracy names no test'
block '/// Accuracy  1 eps: tests/docs/gone.cpp.' 'there is no tests/docs/gone.cpp'
block '/// Accuracy  1 eps (tests/docs/\n///           one.cpp).' 'there is no tests/docs/$'
block '/// Source    derived: by hand.' 'Source is derived, and links no section'
block '/// Source    derived: docs/theory/one.md#two.' 'there is no docs/theory/one.md#two'
block '/// Domain    a long line that breaks\n/// off.' 'a line of "Domain" is not indented by ten blanks: off'
block '/// Domain    a long line that breaks\n///     off.' 'a line of "Domain" is not indented by ten blanks: off'
block '/// A line that breaks\n/// off\n/// and goes on.' 'a torn line: off'
block '/// \\f[ x +\n/// y \\f]' 'a formula is cut in the middle of a term: y'
block '/// \\f[ \\frac{x\n///     y}{z} \\f]' 'a formula is cut in the middle of a term: .*frac'
undocumented '/// Doc.\ntemplate <Real T>\nT f(T x) { return x; }' 'f: a real number without Units'
undocumented 'struct S {' 'the rule lost count'
undocumented '' 'no public name'
fresh; header cuda/incontext/simulate/a.hpp 'namespace incontext::simulate {\ndouble f(double x);\n}'
refuses doc_blocks 'cuda/incontext/simulate/a.hpp:3: f has no doc block'

# ---- memory
home='template <class System>\nvoid f() {\n  typename System::template Memory<double> a, b_(2);\n'
fresh; header cuda/incontext/simulate/a.hpp "$home  std::vector<double> c(b_.begin(), b_.end());\n}"
refuses memory_home 'simulate/a.hpp:5: the iterators of b_, .* use copy_home'
fresh; mkdir -p "$work/tree/cuda/incontext/apply"
header cuda/incontext/apply/a.hpp "$home  thrust::copy_n(a.cbegin(), 2, c.begin());\n}"
refuses memory_home 'apply/a.hpp:5: the iterators of a,'
fresh; header cuda/incontext/simulate/a.hpp "$home  a = Memory<double>(c.begin(), c.end());\n  c.a.begin();\n}"
accepts memory_home

# ---- the way in
front_door; accepts front_door
front_door; sed -i 's/^scripts.verify  .*/scripts\/verify -DX=ON/' "$work/tree/README.md"
refuses front_door "README.md: its two commands are not"
front_door; sed -i '/^scripts.verify/d' "$work/tree/.ci/run"
refuses front_door '.ci/run: begins with other commands'
front_door; sed -i 's/^cd ../cmake -B build/' "$work/tree/.ci/run"
refuses front_door '.ci/run: begins with other commands'
front_door; sed -i 's/^scripts.test/scripts\/test --slow/' "$work/tree/.ci/run"
refuses front_door '.ci/run: begins with other commands'
front_door; sed -i '/^set/d' "$work/tree/.ci/run"
refuses front_door '.ci/run: goes on after'
front_door; chmod -x "$work/tree/scripts/test"
refuses front_door 'scripts/test: cannot be run'
front_door; echo 'cmake -B build' >"$work/tree/scripts/verify"
refuses front_door 'scripts/verify: has a set-up of its own'
front_door; sed -i '/test/d' "$work/tree/docs/install.md"
refuses front_door 'docs/install.md: has no line scripts/test'

# ---- words; in halves, because this file is tracked too
for word in "../sha""red/design.md" "see sha""red/theory" "/work/sha""red" "TO""DO: later" "FIX""ME"; do
  fresh; echo "$word" >>"$work/tree/README.md"
  refuses tracked_words 'README.md:7:'
done

[ "$failures" -eq 0 ] || { echo "$failures power checks failed"; exit 1; }
echo "every rule refuses every planted fault and accepts the good tree"
