// The order of what the search finds. An entry is found if it has every word of the query, in its heading, in the title
// of its page or in its text; where none has them all, those that have some are. Rare words count more than common
// ones, a heading more than a title, a title more than the text, and the query as a whole, as a heading or in one place
// of the text, more than its words apart. Theory is before other pages, these before names of C++ and of Python, and
// all of them before lists, such as tables of files, and these before terms of the glossary; for a query that is written
// as a name is, names are first.
"use strict";

// Factors of an entry's score: what it is; whether the query is written as its name is, or says in words what it names.
const KINDS = { theory: 1.3, page: 1, "C++": 0.9, Python: 0.85, list: 0.5, term: 0.3 };
const AS_NAME = 2.2, IN_WORDS = 0.6;
// What one word is worth, times its rarity, by its place and by how much of the entry's word it is.
const IN_HEADING = 4, IN_TITLE = 1.5;  // and up to 1 in the text
const BEGINNING = 0.6, WITHIN = 0.2;
// What the query as a whole is worth, times the rarity of all its words.
const IS_HEADING = 8, IS_LAST_OF_NAME = 6, PHRASE_OF_HEADING = 3, PHRASE_OF_TEXT = 2, SAME_LETTERS = 1;

const STOP_WORDS = new Set(("a an and are as at by can do does for from how i in is it its many much my need needs " +
  "of on or that the to what when where which why with").split(" "));
const SAME = new Map([["best", "optimal"], ["optima", "optimal"], ["optimum", "optimal"], ["derivative", "gradient"]]);

// A word in the form in which it is compared: without a plural's s, and one for words of one meaning.
function stem(word) {
  const single = word.length > 3 && /[^suiax]s$/.test(word) ? word.slice(0, -1) : word;
  return SAME.get(single) ?? single;
}

// The words of a text: numbers keep their point, names come apart at underscores and hyphens.
function wordsOf(text) {
  return (text.toLowerCase().match(/[\p{L}\p{N}]+(?:\.\p{N}+)*/gu) ?? []).map(stem);
}

// LinearTask as Linear Task, too.
const apart = (name) => name.replace(/(\p{Ll})(?=\p{Lu})/gu, "$1 ");

// A heading or a query without marks and without words that say nothing.
const bare = (text) => wordsOf(text).filter((word) => !STOP_WORDS.has(word)).join("");
// A name of code without marks and without its scope.
const bareName = (name) => wordsOf(name.split(/::|\.(?=\D)/).pop()).join("");

class SearchIndex {
  constructor(list) {
    const fields = ["page", "heading", "address", "text", "kind", "part"];
    this.entries = list.map((values) => Object.fromEntries(fields.map((field, number) => [field, values[number]])));
    let section = null;  // has the words of its parts, too
    for (const entry of this.entries) {
      entry.words = wordsOf(entry.text);
      if (!entry.part) section = entry;
      else section.words = [...section.words, ...wordsOf(entry.heading), ...entry.words];
    }
    this.vocabulary = new Map();  // word: Map of the number of an entry and where the entry has it
    let length = 0;
    this.entries.forEach((entry, number) => {
      const ofCode = entry.kind === "C++" || entry.kind === "Python";
      entry.headingWords = wordsOf(ofCode ? `${entry.heading} ${apart(entry.heading)}` : entry.heading);
      entry.bare = ofCode ? [wordsOf(entry.heading).join(""), bareName(entry.heading)] : [bare(entry.heading)];
      entry.phrase = ` ${entry.headingWords.join(" ")} `;
      entry.content = ` ${entry.words.join(" ")} `;
      length += entry.words.length;
      for (const word of entry.headingWords) this.place(word, number).heading = 1;
      for (const word of wordsOf(entry.page)) this.place(word, number).page = 1;
      for (const word of entry.words) this.place(word, number).text += 1;
      delete entry.words;
    });
    this.meanLength = length / this.entries.length;
  }

  place(word, number) {
    if (!this.vocabulary.has(word)) this.vocabulary.set(word, new Map());
    const places = this.vocabulary.get(word);
    if (!places.has(number)) places.set(number, { heading: 0, page: 0, text: 0 });
    return places.get(number);
  }

  // What a word of the query is worth in each entry that has it: whole, as a beginning, or within a word.
  worth(word) {
    const found = new Map();
    for (const [other, places] of this.vocabulary) {
      const likeness = other === word ? 1 : other.startsWith(word) ? BEGINNING : other.includes(word) ? WITHIN : 0;
      if (likeness === 0) continue;
      for (const [number, { heading, page, text }] of places) {
        const length = this.entries[number].content.length / 6 / this.meanLength;
        const value = likeness * (IN_HEADING * heading + IN_TITLE * page + text / (text + 0.5 + length));
        found.set(number, Math.max(value, found.get(number) ?? 0));
      }
    }
    const rarity = Math.log(1 + this.entries.length / (1 + found.size));
    return { found, rarity };
  }

  // The entries in their order, and whether they have all words.
  search(query) {
    const all = wordsOf(query);
    const spoken = all.filter((word) => !STOP_WORDS.has(word));
    const words = (spoken.length > 0 ? spoken : all).map((word) => this.worth(word));
    const total = words.reduce((sum, { rarity }) => sum + rarity, 0);
    const phrase = all.join(" ");
    const names = [bare(query), all.join("")];
    // written as a name is: of one language, or of either
    const scope = query.includes("::") ? "C++" : /\w\.[a-z]/i.test(query) ? "Python" : "";
    const asName = scope || (/\w_\w|\(\)/.test(query) ? "either" : "neither");
    const numbers = new Set(words.flatMap(({ found }) => [...found.keys()]));
    const scored = [];
    let complete = false;
    for (const number of numbers) {
      const entry = this.entries[number];
      const had = words.filter(({ found }) => found.has(number));
      const every = had.length === words.length;
      complete ||= every;
      let score = had.reduce((sum, { found, rarity }) => sum + rarity * found.get(number), 0);
      const ofCode = entry.kind === "C++" || entry.kind === "Python";
      if (names.some((name) => entry.bare.includes(name))) score += IS_HEADING * total;
      else if (scope && entry.bare.includes(bareName(query))) score += IS_LAST_OF_NAME * total;
      else if (words.length > 1 && entry.phrase.includes(` ${phrase}`)) score += PHRASE_OF_HEADING * total;
      if (words.length > 1 && entry.content.includes(` ${phrase}`)) score += PHRASE_OF_TEXT * total;
      if (entry.heading === query.trim()) score += SAME_LETTERS * total;
      if (ofCode && [entry.kind, "either"].includes(asName)) score *= AS_NAME;
      else if (ofCode && words.length > 1) score *= IN_WORDS;
      score *= KINDS[entry.kind];
      scored.push({ entry, every, score: score - entry.heading.length / 1000 });
    }
    const kept = complete ? scored.filter(({ every }) => every) : scored;
    kept.sort((a, b) => b.score - a.score);
    return { complete, hits: kept.map(({ entry }) => entry) };
  }
}
