"""What the site's search knows: a list of entries, each [page, heading, address, text, kind, part].

A section of a page is one entry, and so is each of its paragraphs that begin with bold words; such a part has 1 in its
last place, follows its section, and has the words that the section's own text then leaves out. A row of the glossary is
an entry, a term. A name of a reference is an entry with the first sentence of its description. Kinds are theory, page,
term, list (a section that is mostly a table or a list), C++ and Python; search.js ranks by them.
"""
import html
import re
import xml.etree.ElementTree as ElementTree


GROUP = r"\{((?:[^{}]|\{[^{}]*\})*)\}|\\[a-zA-Z]+|\w"  # an argument of LaTeX


def fraction(found):
    """A fraction of LaTeX in a line, with parentheses about more than one symbol."""
    above, below = (found[inside] or found[part] for part, inside in ((1, 2), (3, 4)))
    return "/".join(part if re.fullmatch(r"\w|\\[a-zA-Z]+", part) else f"({part})" for part in (above, below)) + " "


def text_of(body):
    """What is read of a piece of HTML, with formulas as one would say them."""
    text = html.unescape(re.sub(r"<[^>]*>", "", body))
    text = re.sub(r"\\[tdc]?frac\s*", r"\\frac ", text)
    for _ in range(3):  # fractions in fractions
        text = re.sub(rf"\\frac ({GROUP})\s*({GROUP})", fraction, text)
    text = re.sub(r"\\sqrt\{([^{}]*)\}", r"√(\1)", text)
    silent = "left|right|bigl|bigr|Bigl|Bigr|mathrm|mathbf|mathcal|operatorname|text|tag|qquad|quad|[,;!]"
    text = re.sub(rf"\\({silent})(?![a-z])", " ", text)
    text = re.sub(r"\\([a-zA-Z]+)", r"\1", text).replace("{", "").replace("}", "")
    return re.sub(r" (?=[).,;^])", "", " ".join(text.split()))


def kind_of(address, body):
    """A list is a section of which more than half is in tables and lists."""
    listed = re.findall(r"<table>.*?</table>|<li>.*?</li>", body, re.S)
    if 2 * sum(len(text_of(part)) for part in listed) > len(text_of(body)):
        return "list"
    return "theory" if address.startswith("docs/theory/") else "page"


def sections(title, address, body):
    """The entries of a page, from its HTML, whose headings and bold beginnings have ids."""
    section = ""
    kind = "page"
    for piece in re.split(r'(?=<h[1-6] id=|<p id=)', body):
        heading = re.match(r'<(h[1-6]|p) id="([^"]*)">(.*?)</(?:h[1-6]|strong)>', piece, re.S)
        if not heading:
            continue
        name, text = text_of(heading[3]), text_of(piece[heading.end():])
        if heading[1] == "p":
            yield [f"{title} › {section}", name.rstrip(".:"), f"{address}#{heading[2]}", text, kind, 1]
        else:
            section, kind = name, kind_of(address, whole_section(body, piece))
            yield [title, name, f"{address}#{heading[2]}", text, kind, 0]


def terms(title, address, body):
    """The rows of a glossary, each with the place of its section."""
    for piece in re.split(r"(?=<h[23] id=)", body)[1:]:
        there = re.match(r'<h[23] id="([^"]*)"', piece)[1]
        for term, meaning in re.findall(r"<tr>\s*<td>(.*?)</td>\s*<td>(.*?)</td>\s*</tr>", piece, re.S):
            yield [title, text_of(term), f"{address}#{there}", text_of(meaning), "term", 0]


def whole_section(body, piece):
    """A section with its parts, which begins by a piece of it."""
    begin = body.index(piece)
    end = re.compile(r"<h[1-6] id=").search(body, begin + 1)
    return body[begin:end.start() if end else len(body)]


def names_of_python(module, address, body):
    """Every name of a module's page and every method, with the first paragraph of its text."""
    for piece in re.split(r"(?=<h[23] id=)", body):
        heading = re.match(r'<h[23] id="([^"]*)">(.*?)</h', piece, re.S)
        if heading:
            text = re.search(r"<p>(.*?)</p>", piece, re.S)
            about = text_of(text[1]) if text else ""
            yield [module, text_of(heading[2]), f"{address}#{heading[1]}", about, "Python", 0]


def tags(site):
    """What Doxygen has documented."""
    file = site / "reference.tag"
    return list(ElementTree.parse(file).getroot().iter("compound")) if file.exists() else []


def page_of(compound):
    return "reference/" + compound.findtext("filename").removesuffix(".html") + ".html"


def briefs(text):
    """The first sentences of a page of Doxygen's: that of its class, and those of its members by their anchors."""
    about = re.search(r'<div class="contents">\s*<p>(.*?)(?:<a href="#details"|</p>)', text, re.S)
    found = re.findall(r'<tr class="memdesc:(\w+)">.*?<td class="mdescRight">(.*?)(?:<a href|<br)', text, re.S)
    return {"": text_of(about[1]) if about else "", **{anchor: text_of(brief) for anchor, brief in found}}


def names_of_cpp(site):
    """Every type of the reference, and every other name at namespace scope, which is in its room."""
    compounds = tags(site)
    rooms = {member.text: compound.findtext("title") for compound in compounds if compound.get("kind") == "group"
             for member in compound if member.tag in ("class", "concept")}
    texts = {}
    for compound in compounds:
        kind, name = compound.get("kind"), compound.findtext("name")
        if kind in ("class", "struct", "concept"):
            brief = briefs((site / page_of(compound)).read_text())[""]
            yield [rooms.get(name) or "C++", name.removeprefix("incontext::"), page_of(compound), brief or kind,
                   "C++", 0]
        elif kind in ("group", "namespace"):
            addresses = {}  # overloads are one entry
            for member in compound.iter("member"):
                place = (member.findtext("anchorfile"), member.findtext("anchor"))
                addresses.setdefault((member.findtext("name"), member.get("kind")), place)
            scope = name.rpartition("::")[2].partition("_")[0]
            room = f"{compound.findtext('title') or name} ({scope})"
            for (member, sort), (file, anchor) in addresses.items():
                if file not in texts:
                    texts[file] = briefs((site / "reference" / file).read_text())
                brief = texts[file].get(anchor.removeprefix("_"), "")
                yield [room, member, f"reference/{file}#{anchor}", brief or sort, "C++", 0]
