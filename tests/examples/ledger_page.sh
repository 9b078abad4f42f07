#!/usr/bin/env bash
# Opens the ledger's page in headless Chromium: no script fails, every claim whose rows a number places is drawn, the
# filters filter, and nothing is wider than a telephone's screen.
#   tests/examples/ledger_page.sh INCONTEXT [FOLDER for screenshots [PAGE that is there already]]
# Exit 77: skipped, there is no Chromium.
set -euo pipefail

program=$1
browser=''
for name in chromium chromium-browser google-chrome; do  # Ubuntu's chromium-browser is none: it names a snap
  if "$name" --version >/dev/null 2>&1; then browser=$name && break; fi
done
[ -n "$browser" ] || { echo "skipped: no chromium" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
page=$work/ledger.html
if [ $# -gt 2 ]; then
  cp "$3" "$page"
else
  "$program" verify --claim temperature/theorem-4.2,temperature/figure-3b,temperature/variance,kernel-descent/proposition-3.1,scalable-softmax/fading,scalable-softmax/figure-4,normsoftmax/reasoning-chance \
    --page "$page" --quiet
fi

# The page's own script ran before these checks, which write what is wrong into the document's title.
{
  sed 's#</body></html>##' "$page"
  cat <<'CHECKS'
<script>
window.addEventListener('load', () => {
  const wrong = [];
  if (window.failures.length) wrong.push('script errors: ' + window.failures.join(' | '));
  const all = [...document.querySelectorAll('article')];
  const unplaced = ['kernel-descent-proposition-3.1', 'normsoftmax-reasoning-chance'];  // no number places their rows
  if (!all.length) wrong.push('no claims');
  for (const card of all) {
    const ran = card.dataset.ran === 'yes';
    const marks = card.querySelectorAll('figure svg circle, figure svg polyline').length;
    const simulated = [...card.querySelectorAll('th')].some(head => /simulation|error/.test(head.textContent));
    if (ran && simulated && (marks < 1) !== unplaced.includes(card.id)) {
      wrong.push(card.id + (marks < 1 ? ' is not drawn' : ' is drawn, and no number places its rows'));
    }
    for (const mark of card.querySelectorAll('figure svg *')) {
      for (const one of mark.attributes) if (/NaN|inf/.test(one.value)) wrong.push(card.id + ' has ' + one.value);
    }
  }
  for (const plot of document.querySelectorAll('figure svg')) {
    const frame = plot.getBoundingClientRect();
    for (const text of plot.querySelectorAll('text')) {
      const box = text.getBoundingClientRect();
      if (box.left < frame.left - 1 || box.right > frame.right + 1) wrong.push('cut off: ' + text.textContent);
    }
  }
  const shown = () => all.filter(card => !card.hidden).length;
  if (shown() !== all.length) wrong.push('claims are hidden at first');
  document.querySelector('.counts button[data-verdict=confirmed]').click();
  const confirmed = all.filter(card => card.dataset.verdict === 'confirmed').length;
  if (!confirmed || shown() !== confirmed) wrong.push('the filter by verdict shows ' + shown() + ' of ' + confirmed);
  document.querySelector('.counts button[data-verdict=confirmed]').click();
  const words = document.querySelector('#words');
  words.value = 'no claim says this';
  words.dispatchEvent(new Event('input'));
  if (shown() !== 0) wrong.push('the filter by words shows ' + shown());
  words.value = 'FADING.hpp  2501.19399';
  words.dispatchEvent(new Event('input'));
  const named = all.filter(card => card.id.startsWith('scalable-softmax-fading'));
  if (!named.length || named.some(card => card.hidden)) wrong.push('the words of a header and a paper, in any order, find no claim');
  words.value = '';
  words.dispatchEvent(new Event('input'));
  for (const detail of document.querySelectorAll('details')) detail.open = true;
  const width = document.documentElement;
  if (width.scrollWidth > width.clientWidth) wrong.push('wider than the screen: ' + width.scrollWidth);
  for (const link of document.querySelectorAll('[src], link[rel=stylesheet]')) wrong.push('another file: ' + link.outerHTML);
  document.body.textContent = 'CHECKED ' + all.length + ' claims. WRONG: ' + (wrong.join('; ') || 'nothing') + ' END';
});
</script></body></html>
CHECKS
} >"$work/checked.html"
sed -i 's#<style>#<script>window.failures = []; window.addEventListener("error", e => window.failures.push(e.message));</script><style>#' \
  "$work/checked.html"

open_page() { # window size, file, further options
  local size=$1 file=$2
  shift 2
  timeout 120 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$work/profile" \
    --window-size="$size" "$@" "file://$file" 2>/dev/null
}

failed=0
for size in 1200,900 500,800; do
  said=$(open_page "$size" "$work/checked.html" --dump-dom | grep -oE 'CHECKED [0-9]+ claims\. WRONG: .* END' | tail -1)
  echo "$size: ${said:-the page was not checked}"
  [[ $said == *"WRONG: nothing END" ]] || failed=1
done
if [ $# -gt 1 ]; then
  mkdir -p "$2"
  open_page 1200,1600 "$page" --screenshot="$2/desktop.png" >/dev/null
  open_page 500,1600 "$page" --screenshot="$2/phone.png" >/dev/null
  open_page 1200,1600 "$page" --blink-settings=preferredColorScheme=0 --screenshot="$2/dark.png" >/dev/null
fi
exit "$failed"
