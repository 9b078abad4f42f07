// Formulas, the contents on narrow screens, and the search over every section of the pages and every name of the reference.
"use strict";
const up = document.currentScript ? document.currentScript.dataset.up : "";

// Formulas near the place where the page opens are drawn at once, the others a few at a time, so that a page with a
// thousand of them opens as fast as one without.
const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
const top_ = place ? place.getBoundingClientRect().top : 0;
const near = (formula) => Math.abs(formula.getBoundingClientRect().top - top_) < 2 * innerHeight;
const draw = (formula) => {
  katex.render(formula.textContent, formula, { displayMode: formula.classList.contains("block"), throwOnError: false });
};
const formulas = [...document.querySelectorAll(".math")];
const first = new Set(formulas.filter(near));
const later = formulas.filter((formula) => !first.has(formula));
first.forEach(draw);
let moved = false;  // by the reader, who then keeps the place
for (const event of ["wheel", "touchmove", "keydown", "mousedown"]) addEventListener(event, () => { moved = true; }, { once: true });
function drawLater() {
  later.splice(0, 25).forEach(draw);
  if (later.length > 0) setTimeout(drawLater);
  else if (place && !moved) place.scrollIntoView();
}
addEventListener("load", () => setTimeout(drawLater));

// Doxygen's pages have their formulas in delimiters.
if (document.querySelector("div.contents")) {
  renderMathInElement(document.querySelector("main"), {
    delimiters: [{ left: "\\[", right: "\\]", display: true }, { left: "\\(", right: "\\)", display: false }],
    throwOnError: false,
  });
}

// Doxygen's pages share their navigation, which therefore does not say which of them is open.
const address = location.href.split(/[?#]/)[0];
const current = document.querySelector("nav [aria-current]") ??
  [...document.querySelectorAll("nav a")].find((link) => link.href === address);
current?.setAttribute("aria-current", "page");
current?.scrollIntoView({ block: "nearest" });

const menu = document.getElementById("site-menu");
menu.addEventListener("click", () => {
  menu.setAttribute("aria-expanded", String(document.body.classList.toggle("open")));
});

// ---- search ---------------------------------------------------------------------------------------------------------
const field = document.getElementById("site-search");
const results = document.getElementById("site-results");
let entries = null;

// index.js calls this: entries are [page, heading, address, text].
function searchIndex(list) {
  entries = list.map(([page, heading, address, text]) => ({
    page, heading, address, text, low: text.toLowerCase(), title: `${heading} ${page}`.toLowerCase(),
  }));
  show();
}

// Sections that have every word; first those whose heading has the phrase, then those whose text has it, then by words.
function found(query) {
  const phrase = query.toLowerCase().trim().replace(/\s+/g, " ");
  const words = phrase.split(" ");
  const scored = [];
  for (const entry of entries) {
    if (!words.every((word) => entry.title.includes(word) || entry.low.includes(word))) continue;
    let score = entry.title.includes(phrase) ? 100 : entry.low.includes(phrase) ? 50 : 0;
    for (const word of words) score += entry.title.includes(word) ? 5 : 0;
    score += Math.min(9, entry.low.split(phrase).length - 1);
    scored.push({ score: score - entry.title.length / 1000, entry });
  }
  return scored.sort((a, b) => b.score - a.score).map(({ entry }) => entry);
}

// The text around the first place of the phrase, or of the first word that the text has.
function excerpt(entry, query) {
  const places = [query, ...query.split(/\s+/)].map((part) => entry.low.indexOf(part.toLowerCase()));
  const start = Math.max(0, (places.find((place) => place >= 0) ?? 0) - 60);
  const end = start + 180;
  return (start > 0 ? "…" : "") + entry.text.slice(start, end) + (entry.text.length > end ? "…" : "");
}

function show() {
  const query = field.value.trim();
  results.hidden = query.length < 2;
  if (results.hidden || entries === null) return;
  const hits = found(query);
  results.replaceChildren(...hits.slice(0, 25).map((entry) => {
    const link = document.createElement("a");
    const heading = document.createElement("strong");
    const rest = document.createElement("span");
    link.href = up + entry.address;
    heading.textContent = entry.heading;
    rest.textContent = `${entry.page} · ${excerpt(entry, query)}`;
    link.append(heading, rest);
    return link;
  }));
  if (hits.length === 0) results.textContent = "Nothing has all of these words.";
}

function load() {
  if (document.getElementById("site-index")) return;
  const script = document.createElement("script");
  script.id = "site-index";
  script.src = `${up}assets/index.js`;
  document.head.append(script);
}

field.addEventListener("focus", load);
field.addEventListener("input", () => { load(); show(); });
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== field) {
    event.preventDefault();
    field.focus();
  } else if (event.key === "Escape") {
    field.value = "";
    show();
  } else if (event.key === "Enter" && document.activeElement === field && results.querySelector("a")) {
    results.querySelector("a").click();
  }
});
document.addEventListener("click", (event) => {
  if (!results.contains(event.target) && event.target !== field) results.hidden = true;
});
// A page opened with ?q=words shows what the search finds.
const query = new URLSearchParams(location.search).get("q");
if (query) {
  field.value = query;
  load();
}
