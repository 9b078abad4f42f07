// Formulas, the contents on narrow screens, and the search over every section of the pages and every name of the
// references, whose order is search.js's.
"use strict";
const up = document.currentScript ? document.currentScript.dataset.up : "";

// Formulas near the place where the page opens are drawn at once, the others a few at a time, so that a page with a
// thousand of them opens as fast as one without.
const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
const top_ = place ? place.getBoundingClientRect().top : 0;
const near = (formula) => Math.abs(formula.getBoundingClientRect().top - top_) < 2 * innerHeight;
const draw = (formula) => {
  katex.render(formula.textContent, formula, { displayMode: formula.classList.contains("block"), throwOnError: false });
  keepBeside(formula);
};
// A line could end between a formula and the bracket before it or the marks after it: these go into its first and last
// piece, and into the MathML that is not seen, which programs read aloud in the place of the pieces.
function keepBeside(formula) {
  const pieces = formula.querySelectorAll(".katex-html > .base");
  if (pieces.length === 0 || formula.classList.contains("block")) return;
  const take = (text, marks, place) => {
    const found = text?.nodeType === Node.TEXT_NODE && text.data.match(marks);
    if (!found) return;
    text.data = text.data.replace(marks, "");
    const beside = document.createElement("span");
    beside.className = "beside";
    beside.textContent = found[0];
    place(beside, formula.querySelector(".katex-mathml"));
  };
  take(formula.previousSibling, /[(\[]+$/, (beside, said) => {
    pieces[0].prepend(beside);
    said.prepend(beside.textContent);
  });
  take(formula.nextSibling, /^[.,;:!?)\]]+/, (beside, said) => {
    pieces[pieces.length - 1].append(beside);
    said.append(beside.textContent);
  });
}
const formulas = [...document.querySelectorAll(".math")];
const first = new Set(formulas.filter(near));
const later = formulas.filter((formula) => !first.has(formula));
first.forEach(draw);
// A piece of a formula in a line that is wider than the page scrolls like a formula of its own.
function letWideOnesScroll() {
  const width = document.querySelector("main").clientWidth;
  const pieces = [...document.querySelectorAll(".katex-html > .base")].filter((piece) => piece.offsetWidth > width);
  for (const piece of pieces) if (!piece.closest(".katex-display")) piece.closest(".katex").classList.add("wide");
}
let moved = false;  // by the reader, who then keeps the place
for (const event of ["wheel", "touchmove", "keydown", "mousedown"]) {
  addEventListener(event, () => { moved = true; }, { once: true });
}
function drawLater() {
  later.splice(0, 25).forEach(draw);
  if (later.length > 0) {
    setTimeout(drawLater);
    return;
  }
  letWideOnesScroll();
  if (place && !moved) place.scrollIntoView();
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
if (matchMedia("(min-width: 56rem)").matches) field.placeholder = "Search, such as Theorem 4.2 (key /)";
let index = null;

// index.js calls this.
function searchIndex(list) {
  index = new SearchIndex(list);
  show();
}

// The text around the first place of the query, or else of the first of its words that the text has.
function excerpt(text, query) {
  const low = text.toLowerCase();
  const sought = [query, ...query.split(/[^\p{L}\p{N}.]+/u)].filter(Boolean);
  const places = sought.map((words) => low.indexOf(words.toLowerCase()));
  const start = Math.max(0, (places.find((place) => place >= 0) ?? 0) - 60);
  const end = start + 180;
  return (start > 0 ? "…" : "") + text.slice(start, end) + (text.length > end ? "…" : "");
}

function part(name, text) {
  const element = document.createElement(name);
  element.textContent = text;
  return element;
}

function show() {
  const query = field.value.trim();
  results.hidden = query.length < 2;
  if (results.hidden || index === null) return;
  const { complete, hits } = index.search(query);
  results.replaceChildren(...hits.slice(0, 25).map((entry) => {
    const link = document.createElement("a");
    const heading = part("strong", entry.heading);
    link.href = up + entry.address;
    if (entry.kind === "C++" || entry.kind === "Python") heading.append(part("em", entry.kind));
    link.append(heading, part("span", `${entry.page} · ${excerpt(entry.text, query)}`));
    return link;
  }));
  const some = hits.length > 0 ? "; this has some" : "";
  if (!complete) results.prepend(part("p", `Nothing has all of these words${some}.`));
}

// The order of results and the index are loaded when somebody searches.
function load() {
  if (document.getElementById("script-index")) return;
  for (const name of ["search", "index"]) {
    const script = document.createElement("script");
    script.id = `script-${name}`;
    script.async = false;
    script.src = `${up}assets/${name}.js`;
    document.head.append(script);
  }
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
