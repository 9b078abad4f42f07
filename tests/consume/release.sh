#!/usr/bin/env bash
# release.sh WORK [CMAKE-OPTION...]: the source archive of scripts/release. Made twice, from different places and under
# different settings, it has the same bytes; its checksum is right, in the recipes, too; it holds the files of the commit; and its headers are
# configured and installed where there is neither git nor a repository.
set -euo pipefail
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
mkdir -p "$1"
work=$(realpath "$1")
shift
rm -rf "${work:?}"/*
fail() { echo "FAILED: $*"; exit 1; }
version=$(git -C "$root" show HEAD:CMakeLists.txt | sed -n 's/^project(incontext VERSION \([0-9.]*\).*/\1/p')
archive=incontext-$version-source.tar.gz

"$root/scripts/release" -o "$work/first" source recipes
(cd / && umask 077 && TZ=Asia/Tokyo LC_ALL=C.UTF-8 "$root/scripts/release" -r "$(git -C "$root" rev-parse HEAD)" -o "$work/second" source recipes) >/dev/null
diff -r "$work/first" "$work/second" || fail "two runs differ"
(cd "$work/first" && sha256sum --quiet -c SHA256SUMS) || fail "SHA256SUMS does not hold"
for sum in 256:conda-forge/recipe.yaml 256:spack/package.py 512:vcpkg/ports/incontext/portfile.cmake; do
  grep -qF "$("sha${sum%:*}sum" "$work/first/$archive" | cut -d' ' -f1)" "$work/first/recipes/${sum#*:}" || fail "${sum#*:} has another checksum"
done

# a later commit, a tag of another version, and a folder in use
git clone -q --depth 1 "file://$root" "$work/clone"
git -C "$work/clone" tag v99.0.0
if (cd "$work/clone" && scripts/release -r v99.0.0 -o "$work/third" source) 2>"$work/refusal"; then fail "v99.0.0 was made of $version"; fi
grep -qF "v99.0.0 is a commit of version $version" "$work/refusal" || fail "the refusal says: $(cat "$work/refusal")"
if "$root/scripts/release" -o "$work/first" source 2>/dev/null; then fail "a folder in use was taken"; fi
# a word that is no file
if "$root/scripts/release" -o "$work/third" report 2>"$work/refusal"; then fail "report was taken for a file"; fi
grep -qF "docs, ledger)" "$work/refusal" || fail "the refusal says: $(cat "$work/refusal")"
[ ! -e "$work/third" ] || fail "a refused run left files"
git -C "$work/clone" -c user.name=test -c user.email=test commit -q --allow-empty -m later
echo changed >>"$work/clone/README.md"
(cd "$work/clone" && scripts/release -r HEAD~ -o "$work/third" source recipes) >/dev/null
diff -r "$work/first" "$work/third" || fail "what is not in the commit is in its files"

tar -xzf "$work/first/$archive" -C "$work"
tree=$work/incontext-$version
diff <(git -C "$root" ls-tree -r --name-only HEAD | LC_ALL=C sort) <(cd "$tree" && find . ! -type d | sed 's:^\./::' | LC_ALL=C sort) ||
  fail "the archive holds other files than the commit"

# what calls git all the same finds no repository
export GIT_DIR=/nonexistent
cmake -S "$tree" -B "$work/build" -DCMAKE_DISABLE_FIND_PACKAGE_Git=ON -DINCONTEXT_CUDA=OFF -DINCONTEXT_MPI=OFF \
  -DINCONTEXT_BUILD_PROGRAMS=OFF -DINCONTEXT_BUILD_TESTS=OFF -DINCONTEXT_BUILD_BENCHMARKS=OFF "$@" >"$work/log" 2>&1 || { cat "$work/log"; fail "configure"; }
cmake --install "$work/build" --prefix "$work/prefix" >"$work/log" 2>&1 || { cat "$work/log"; fail "install"; }
diff <(cd "$tree" && for room in include cuda; do (cd "$room" && find . -name '*.hpp'); done | LC_ALL=C sort) \
  <(cd "$work/prefix/include" && find . -type f | LC_ALL=C sort) || fail "the installed headers are not those of the archive"
grep -qrF "set(PACKAGE_VERSION \"$version\")" "$work/prefix" || fail "the CMake package does not say version $version"
