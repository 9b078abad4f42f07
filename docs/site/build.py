#!/usr/bin/env python3
"""Builds the documentation's site from the Markdown pages, with the reference that Doxygen makes inside it.

    build.py frame ROOT SITE [NAME=FILE...]   writes the head and foot of Doxygen's pages, SITE/frame/{header,footer}.html
    build.py pages ROOT SITE [NAME=FILE...]   writes all pages and the search into SITE, after Doxygen has filled
                                              SITE/reference where there is Doxygen
    A FILE that is there, such as the ledger, becomes the page NAME. CMARK_GFM and KATEX in the environment name the program
    cmark-gfm and the folder of KaTeX.

Pages keep their place in the repository, with .html for .md. A link to a header leads to its page of the reference, one to
any other file of the repository to a copy of its text. Exit 1: a link of a page leads nowhere; each is printed.
"""
import html
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

SOURCE = Path(__file__).resolve().parent
TOP = ("README.md", "docs/index.md")


def slug(heading):
    """What may follow a #, as forges make it of a heading."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def plain(markdown):
    """A line of Markdown without its marks."""
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", markdown).replace("`", "").replace("**", "")


def title_of(page):
    return plain(re.search(r"^# (.*)", page.read_text(), re.M)[1])


def pages_of(root):
    """Every page that can be reached from README, README first."""
    reached, waiting = [], list(TOP)
    while waiting:
        page = waiting.pop(0)
        if page not in reached and (root / page).is_file():
            reached.append(page)
            links = re.findall(r"\]\(([^)# ]+\.md)", (root / page).read_text())
            waiting += [os.path.normpath(os.path.join(os.path.dirname(page), link)) for link in links if "://" not in link]
    return reached


def navigation(root):
    """The groups of the side: pages in the order of docs/index.md's table, derivations, rooms of the reference."""
    table = (root / "docs/index.md").read_text().partition("## Pages")[2]
    pages = [os.path.normpath(os.path.join("docs", link)) for link in re.findall(r"^\| \[[^]]*\]\(([^)]+\.md)\)", table, re.M)]
    theory = [str(page.relative_to(root)) for page in sorted((root / "docs/theory").glob("*.md"))]
    rooms = re.findall(r"\\defgroup (\w+) (.*)", (root / "docs/doxygen/rooms.dox").read_text())
    entries = lambda names: [(title_of(root / name), name[:-3] + ".html") for name in names]
    return [("", [("incontext", "index.html"), ("Which question, which header", "docs/index.html"), *entries(pages)]),
            ("Derivations", entries(theory)),
            ("Reference", [("All rooms", "reference/index.html"), ("Headers", "reference/files.html")] + [
                (title, f"reference/group__{name.replace('_', '__')}.html") for name, title in rooms])]


def side(groups, here, up):
    """The navigation as HTML, for a page `here` from which `up` leads to the top."""
    out = []
    for heading, entries in groups:
        out += [f"<p>{html.escape(heading)}</p>"] if heading else []
        out += ["<ul>"]
        for title, target in entries:
            current = ' aria-current="page"' if target == here else ""
            out += [f'<li><a href="{up}{target}"{current}>{html.escape(title)}</a></li>']
        out += ["</ul>"]
    return "\n".join(out)


def framed(groups, title, content, here="", up=None, head=""):
    """A page of the site."""
    up = "../" * here.count("/") if up is None else up
    page = (SOURCE / "page.html").read_text()
    for name, text in {"title": title, "head": head, "side": side(groups, here, up), "up": up, "content": content}.items():
        page = page.replace("{" + name + "}", text)
    return page


class Renderer:
    def __init__(self, root, site, groups):
        self.root, self.site, self.groups = root, site, groups
        self.headers = reference_files(site)
        self.copied = set()
        self.sections = []  # of the search: [title of the page, heading, address, text]

    def target(self, page, link):
        """Where a link of a page leads in the site."""
        path, mark, section = link.partition("#")
        if re.match(r"[a-z]+:", link) or not path:
            return link
        here, path = os.path.dirname(page), os.path.normpath(os.path.join(os.path.dirname(page), path))
        if path.endswith(".md"):
            new = "index.html" if path == "README.md" else path[:-3] + ".html"
        elif path in self.headers:
            new = self.headers[path]
        elif path.endswith((".svg", ".png")):
            new = path
        else:
            new = f"source/{path}.html"
        if new == path or new.startswith("source/"):
            self.copied.add(path)
        return os.path.relpath(new, here or ".") + mark + section

    def page(self, page):
        text, formulas = without_formulas((self.root / page).read_text())
        command = [os.environ.get("CMARK_GFM", "cmark-gfm"), "-e", "table", "-e", "autolink"]
        body = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
        headings = iter(heading.lstrip("#").strip() for heading in re.findall(r"^#+ .*", without_code(text), re.M))
        body = re.sub(r"<h([1-6])>", lambda match: f'<h{match[1]} id="{slug(plain(restored(next(headings), formulas)))}">', body)
        body = re.sub(r'(href|src)="([^"]*)"', lambda match: f'{match[1]}="{html.escape(self.target(page, html.unescape(match[2])))}"', body)
        # long names may go on in the next line after a slash or an underscore
        body = re.sub(r"(?<!<pre>)<code>(.*?)</code>", lambda match: "<code>" + re.sub(r"([/_])(?=\w)", r"\1<wbr>", match[1]) + "</code>", body)
        body = body.replace("<table>", '<div class="wide"><table>').replace("</table>", "</table></div>")
        body = restored(body, formulas, lambda tex, block: f'<span class="{"block " * block}math">{html.escape(tex)}</span>')
        here = "index.html" if page == "README.md" else page[:-3] + ".html"
        self.index(title_of(self.root / page), here, body)
        write(self.site / here, framed(self.groups, html.escape(title_of(self.root / page)), body, here))

    def index(self, title, here, body):
        for part in re.split(r"(?=<h[1-6] id=)", body):
            anchor = re.match(r'<h[1-6] id="([^"]*)">(.*?)</h', part, re.S)
            if anchor:
                self.sections.append([title, text_of(anchor[2]), f"{here}#{anchor[1]}", text_of(part[anchor.end():])])

    def copies(self):
        """What pages link to besides pages: pictures as they are, other files and folders as pages of their own."""
        for path in sorted(self.copied):
            file = self.root / path
            if path.endswith((".svg", ".png")):
                (self.site / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, self.site / path)
                continue
            if file.is_dir():
                content = "<ul>" + "".join(f"<li>{html.escape(entry.name)}</li>" for entry in sorted(file.iterdir())) + "</ul>"
            elif file.is_file():
                content = f"<pre><code>{html.escape(file.read_text())}</code></pre>"
            else:
                continue
            here = f"source/{path}.html"
            write(self.site / here, framed(self.groups, path, f"<h1>{path}</h1>\n{content}", here))


def write(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def without_code(text):
    return re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)


def without_formulas(text):
    """The text with words in the place of its formulas, which Markdown would take for marks; and the formulas."""
    formulas = []

    def word(match):
        if match[1] is not None:  # code
            return match[0]
        formulas.append((match[2] or match[3], match[2] is not None))
        return f"FORMULA{len(formulas) - 1}F"

    return re.sub(r"(^```.*?^```|``.+?``|`[^`\n]+`)|\$\$(.+?)\$\$|\$([^$\n]+?)\$", word, text, flags=re.M | re.S), formulas


def restored(text, formulas, form=lambda tex, block: f"${tex}$"):
    return re.sub(r"FORMULA(\d+)F", lambda match: form(*formulas[int(match[1])]), text)


def fraction(found):
    """A fraction of LaTeX in a line, with parentheses about more than one symbol."""
    above, below = (found[inside] or found[part] for part, inside in ((1, 2), (3, 4)))
    return "/".join(part if re.fullmatch(r"\w|\\[a-zA-Z]+", part) else f"({part})" for part in (above, below))


def text_of(body):
    """What is read of a piece of HTML, with formulas as one would say them."""
    text = html.unescape(re.sub(r"<[^>]*>", "", body))
    text = re.sub(r"\\[tdc]?frac\s*", r"\\frac", text)
    for _ in range(3):  # fractions in fractions
        text = re.sub(r"\\frac(\{((?:[^{}]|\{[^{}]*\})*)\}|\w)(\{((?:[^{}]|\{[^{}]*\})*)\}|\w)", fraction, text)
    text = re.sub(r"\\sqrt\{([^{}]*)\}", r"√(\1)", text)
    text = re.sub(r"\\(left|right|bigl|bigr|mathrm|mathbf|mathcal|operatorname|text|qquad|quad|[,;!])(?![a-z])", " ", text)
    return " ".join(re.sub(r"\\([a-zA-Z]+)", r"\1", text).replace("{", "").replace("}", "").split())


def reference_files(site):
    """The headers that the reference has a page for, by their place in the repository."""
    tags = site / "reference.tag"
    found = {}
    for compound in ElementTree.parse(tags).getroot().iter("compound") if tags.exists() else ():
        if compound.get("kind") == "file":
            name = "incontext/" + (compound.findtext("path", "") + compound.findtext("name")).partition("incontext/")[2]
            for folder in "include", "cuda":
                found[f"{folder}/{name}"] = "reference/" + compound.findtext("filename").removesuffix(".html") + ".html"
    return found


def reference_names(site):
    """For the search: every type of the reference, and every other name at namespace scope, which is in its room."""
    tags = site / "reference.tag"
    for compound in ElementTree.parse(tags).getroot().iter("compound") if tags.exists() else ():
        kind, name = compound.get("kind"), compound.findtext("name")
        if kind in ("class", "struct", "concept"):
            yield ["Reference", name, "reference/" + compound.findtext("filename").removesuffix(".html") + ".html", kind]
        elif kind in ("group", "namespace"):
            addresses = {}  # overloads are one entry
            for member in compound.iter("member"):
                address = f"reference/{member.findtext('anchorfile')}#{member.findtext('anchor')}"
                addresses.setdefault((member.findtext("name"), member.get("kind")), address)
            for (member, sort), address in addresses.items():
                room = compound.findtext("title") or name
                yield ["Reference", member, address, f"{sort} of {room}: {member.replace('_', ' ')}"]


def finish_reference(root, site, pages):
    """In the reference, a section of a page that a description names becomes a link. Pages of folders go, which Doxygen
    names by where on this machine they are, and so does that place."""
    for folder in (site / "reference").glob("dir_*.html"):
        folder.unlink()
    named = re.compile(r"(?<![\w/\"])(docs/[\w/]+|CONTRIBUTING)\.md(#[\w-]+)?")
    for file in (site / "reference").glob("*.html"):
        text = file.read_text()
        new = named.sub(lambda match: f'<a href="../{match[1]}.html{match[2] or ""}">{match[0]}</a>' if f"{match[1]}.md" in pages
                        else match[0], text)
        new = re.sub(r'<a [^>]*href="dir_[^"]*"[^>]*>(.*?)</a>', r"\1", new).replace(f"{root}/", "")
        if new != text:
            file.write_text(new)


def broken_links(site):
    """Every link inside the site that leads nowhere."""
    files = {str(file.relative_to(site)): file.read_text() for file in site.rglob("*.html")}
    anchors = {name: set(re.findall(r'(?:id|name)="([^"]+)"', text)) for name, text in files.items()}
    for name, text in sorted(files.items()):
        for link in sorted(set(re.findall(r'<[^>]* (?:href|src)="([^"]+)"', text))):
            path, _, section = html.unescape(link).partition("#")
            if re.match(r"[a-z]+:", path):
                continue
            target = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
            if not (site / target).exists():
                yield f"{name}: there is no {target}"
            # Doxygen links to headings that it then leaves out
            elif section and not target.startswith("reference/") and section not in anchors.get(target, {section}):
                yield f"{name}: {target} has no heading {section}"


def main(step, root, site, *extra):
    root, site = Path(root), Path(site)
    groups = navigation(root)
    own = [name.partition("=") for name in extra]
    own = [(title, Path(file)) for title, _, file in own if Path(file).is_file()]
    groups[0][1].extend((title, file.name) for title, file in own)
    if step == "frame":
        header, footer = framed(groups, "$title", "{content}", up="$relpath^../", head='<script src="$relpath^jquery.js"></script>'
                                '<script src="$relpath^dynsections.js"></script>').split("{content}")
        write(site / "frame/header.html", header)
        write(site / "frame/footer.html", footer)
        return 0
    if not (site / "reference").is_dir():
        groups = groups[:-1]
    for _, file in own:
        shutil.copyfile(file, site / file.name)
    pages = pages_of(root)
    renderer = Renderer(root, site, groups)
    for page in pages:
        renderer.page(page)
    renderer.copies()
    finish_reference(root, site, pages)
    index = renderer.sections + list(reference_names(site))
    write(site / "assets/index.js", f"searchIndex({json.dumps(index, ensure_ascii=False, separators=(',', ':'))});\n")
    for name in "style.css", "site.js":
        shutil.copyfile(SOURCE / name, site / "assets" / name)
    katex = Path(os.environ.get("KATEX", "/usr/share/javascript/katex"))
    for name in "katex.min.css", "katex.min.js", "contrib/auto-render.js":
        shutil.copyfile(katex / name, site / "assets" / Path(name).name)
    for font in (katex / "fonts").glob("*.woff2"):
        (site / "assets/fonts").mkdir(exist_ok=True)
        shutil.copyfile(font, site / "assets/fonts" / font.name)
    shutil.rmtree(site / "frame", ignore_errors=True)
    (site / "reference.tag").unlink(missing_ok=True)
    broken = list(broken_links(site))
    print("\n".join(broken))
    print(f"{len(pages)} pages, {len(index)} entries of the search, {len(broken)} links that lead nowhere: {site / 'index.html'}")
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
