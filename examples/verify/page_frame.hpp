#pragma once

/// The parts of the page that do not depend on the ledger: its style, and the script of its filters.
namespace incontext::examples::verify {

inline constexpr const char* page_style = R"(
:root { --ground: #fbfaf7; --card: #ffffff; --ink: #1d2430; --faint: #5c6675; --rule: #d9dce2; --link: #1f5fa8;
  --good: #1c7a4a; --partly: #8a6100; --not: #b3261e; --open: #5c6675;
  --s1: #1f5fa8; --s2: #c2410c; --s3: #3f7d20; --s4: #8a4fbf; --s5: #0f766e;
  --s6: #9d174d; --s7: #6b7280; --s8: #a16207; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #14171c; --card: #1c2027; --ink: #e6e8ec; --faint: #9aa4b2; --rule: #343b46; --link: #8ab8f0;
    --good: #5fc08d; --partly: #d9ad45; --not: #f28b82; --open: #9aa4b2;
    --s1: #7fb2ee; --s2: #f0925f; --s3: #8fce6c; --s4: #c39ae8; --s5: #5cc8bc;
    --s6: #ea8fb8; --s7: #a7b0bd; --s8: #dcb867; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: .5rem 0; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
h3 { font-size: 1rem; margin: 0; overflow-wrap: anywhere; }
a { color: var(--link); }
code { font-size: .85em; overflow-wrap: anywhere; }
.faint { color: var(--faint); font-size: .9rem; }
.counts, .filters { display: flex; flex-wrap: wrap; gap: .5rem; margin: .75rem 0; }
.counts button { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--rule);
  border-radius: .5rem; padding: .3rem .7rem; cursor: pointer; }
.counts button[aria-pressed=true] { outline: 2px solid var(--link); }
.counts b { font-size: 1.2rem; }
.filters input, .filters select { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--rule);
  border-radius: .4rem;
  padding: .35rem .5rem; min-width: 0; max-width: 100%; }
.filters input { flex: 1 1 12rem; }
article { background: var(--card);
  border: 1px solid var(--rule); border-radius: .6rem; margin: .8rem 0; padding: .9rem; }
article header { display: flex; flex-wrap: wrap; gap: .3rem .8rem; align-items: baseline;
  justify-content: space-between; }
.verdict { font-weight: 600; }
.confirmed, .seen-in-a-small-model { color: var(--good); }
.holds-in-a-regime, .not-reproduced-in-a-small-model { color: var(--partly); } .contradicted { color: var(--not); }
.by-definition, .undecided, .not-tried, .out-of-reach { color: var(--open); }
blockquote { margin: .5rem 0; padding-left: .8rem; border-left: 3px solid var(--rule); font-style: italic; }
.groups { padding-left: 1.1rem; } .groups li { margin: .35rem 0; }
figure { margin: .6rem 0; } figure svg { width: 100%; height: auto; max-width: 34rem; display: block; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .15rem .6rem .15rem 0; border-bottom: 1px solid var(--rule); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; white-space: normal; min-width: 12rem; }
tr.control td { color: var(--faint); } tr.rejected td { color: var(--not); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem .8rem; margin: .5rem 0; font-size: .9rem; }
dt { color: var(--faint); } dd { margin: 0; min-width: 0; overflow-wrap: anywhere; }
summary { cursor: pointer; color: var(--link); margin-top: .4rem; }
[hidden] { display: none !important; }
@media (max-width: 30rem) { dl { grid-template-columns: 1fr; } main { padding: .6rem; } }
)";

inline constexpr const char* page_script = R"(
const cards = [...document.querySelectorAll('article')];
const paper = document.querySelector('#paper'), words = document.querySelector('#words');
const buttons = [...document.querySelectorAll('.counts button')];
function filter() {
  const chosen = buttons.filter(b => b.getAttribute('aria-pressed') === 'true').map(b => b.dataset.verdict);
  const wanted = words.value.toLowerCase().split(/\s+/).filter(word => word);
  let shown = 0;
  for (const card of cards) {
    const fits = (!chosen.length || chosen.includes(card.dataset.verdict)) &&
      (!paper.value || card.dataset.paper === paper.value) && wanted.every(word => card.dataset.words.includes(word));
    card.hidden = !fits;
    shown += fits ? 1 : 0;
  }
  for (const heading of document.querySelectorAll('section')) {
    heading.hidden = ![...heading.querySelectorAll('article')].some(card => !card.hidden);
  }
  document.querySelector('#shown').textContent = shown + ' of ' + cards.length + ' claims shown';
}
for (const button of buttons) button.addEventListener('click', () => {
  button.setAttribute('aria-pressed', button.getAttribute('aria-pressed') !== 'true');
  filter();
});
paper.addEventListener('change', filter);
words.addEventListener('input', filter);
if (location.hash) { const one = document.getElementById(location.hash.slice(1)); if (one) one.scrollIntoView(); }
filter();
)";

}  // namespace incontext::examples::verify
