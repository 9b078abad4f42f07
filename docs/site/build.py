#!/usr/bin/env python3
"""Builds the documentation's site from the Markdown pages, with the references of C++ and of Python inside it.

    build.py frame ROOT SITE [NAME=FILE...]   writes head and foot of Doxygen's pages, SITE/frame/{header,footer}.html
    build.py pages ROOT SITE [NAME=FILE...]   writes all pages and the search into SITE, after Doxygen has filled
                                              SITE/reference where there is Doxygen

A FILE that is there, such as the ledger, becomes the page NAME. The environment may name three tools: CMARK_GFM the
program cmark-gfm, KATEX the folder of KaTeX, and INCONTEXT_DOCS_PYTHON a Python that has the package incontext of this
version, which then is in the site, too (if absent, the Python that runs this script; if empty, none). Without a package
the site is built without these pages, and a line on stderr says why.

Pages keep their place in the repository, with .html for .md. A link to a header leads to its page of the reference, one
to any other file of the repository to a copy of its text. Exit 1: a link of a page leads nowhere; each is printed.

The search is ours: of the 14 queries about pages in tests/docs/site.py, that of MkDocs 1.6.1 has the right place first
in 4, with or without headings in the place of bold beginnings; ours has it in all.
"""
import html
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True  # nothing is written beside the sources
import search  # noqa: E402

SOURCE = Path(__file__).resolve().parent
TOP = ("README.md", "docs/index.md")
NO_PACKAGE = 77  # what python/reference.py exits with


def slug(heading):
    """What may follow a #, as forges make it of a heading."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def plain(markdown):
    """A line of Markdown without its marks."""
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", markdown).replace("`", "").replace("**", "")


def title_of(page):
    return plain(re.search(r"^# (.*)", page.read_text(), re.M)[1])


def from_page(page, link):
    """The place in the repository that a relative link of a page names."""
    return os.path.normpath(os.path.join(os.path.dirname(page), link))


def pages_of(root):
    """Every page that can be reached from README, README first."""
    reached, waiting = [], list(TOP)
    while waiting:
        page = waiting.pop(0)
        if page not in reached and (root / page).is_file():
            reached.append(page)
            links = re.findall(r"\]\(([^)# ]+\.md)", (root / page).read_text())
            waiting += [from_page(page, link) for link in links if "://" not in link]
    return reached


def python_reference(root, folder):
    """The folder with a page of Markdown for each module of the package, or None and the reason why there is none."""
    python = os.environ.get("INCONTEXT_DOCS_PYTHON", sys.executable)
    if folder.is_dir():  # from the step before
        return folder, ""
    if not python:
        return None, "INCONTEXT_DOCS_PYTHON is empty"
    script = root / "python/reference.py"
    try:
        made = subprocess.run([python, script, folder], stderr=subprocess.PIPE, text=True)
    except OSError as error:
        return None, str(error)
    if made.returncode == NO_PACKAGE:
        return None, made.stderr.strip()
    if made.returncode != 0:
        sys.exit(f"{made.stderr}build.py: {script} failed")
    print(made.stderr, end="", file=sys.stderr)
    return folder, ""


def navigation(root, with_cpp, modules):
    """The groups of the side: pages in the order of docs/index.md's table, derivations, rooms of C++, modules."""
    table = (root / "docs/index.md").read_text().partition("## Pages")[2]
    pages = [from_page("docs/index.md", link) for link in re.findall(r"^\| \[[^]]*\]\(([^)]+\.md)\)", table, re.M)]
    theory = [str(page.relative_to(root)) for page in sorted((root / "docs/theory").glob("*.md"))]

    def entries(names):
        return [(title_of(root / name), name[:-3] + ".html") for name in names]

    first = [("incontext", "index.html"), ("Which question, which header", "docs/index.html")]
    groups = [("", first + entries(pages)), ("Derivations", entries(theory))]
    if with_cpp:
        rooms = re.findall(r"\\defgroup (\w+) (.*)", (root / "docs/doxygen/rooms.dox").read_text())
        groups += [("Reference of C++", [("All rooms", "reference/index.html"), ("Headers", "reference/files.html")] + [
            (title, f"reference/group__{name.replace('_', '__')}.html") for name, title in rooms])]
    if modules:
        listed = re.findall(r"\]\((\w+)\.md\)", (modules / "index.md").read_text())
        groups += [("Reference of Python", [("All modules", "python/index.html")] + [
            (f"incontext.{name}", f"python/{name}.html") for name in listed])]
    return groups


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
    slots = {"title": title, "head": head, "side": side(groups, here, up), "up": up, "content": content}
    for name, text in slots.items():
        page = page.replace("{" + name + "}", text)
    return page


def anchor(name):
    """The link beside a heading, to the heading itself."""
    return f' <a class="anchor" href="#{name}" aria-label="Link to this place">#</a>'


def with_anchors(body):
    """Headings, and paragraphs that begin with bold words, with a link to their ids."""
    headed = r'(<(?:h[2-6]|p) id="([^"]*)">.*?)(?=</h|(?<=</strong>))'
    return re.sub(headed, lambda found: found[1] + anchor(found[2]), body, flags=re.S)


def with_named_beginnings(body):
    """Paragraphs that begin with bold words get an id: that of their section, and the words."""
    section, taken = "", set(re.findall(r' id="([^"]*)"', body))

    def named(found):
        nonlocal section
        if found[1]:
            section = found[1] + "-" if found[0].startswith("<h2") or not section else section
            return found[0]
        name = section + slug(search.text_of(found[2]))
        while name in taken:
            name += "-"
        taken.add(name)
        return f'<p id="{name}"><strong>{found[2]}</strong>'

    return re.sub(r'<h[2-6] id="([^"]*)">|<p><strong>(.*?)</strong>', named, body, flags=re.S)


def with_room(body):
    """Tables whose cells have a class where a least width is needed: `number` for a short text with a digit and a
    space, `sentence` for more than 48 letters."""
    def cell(found):
        text = search.text_of(found[3])
        number = len(text) <= 14 and re.search(r"\d", text) and " " in text and 'class="' not in found[3]
        words = search.text_of(re.sub(r"<code>.*?</code>", "", found[3]))
        kind = "number" if number else "sentence" if len(words) > 48 else ""
        return f'<{found[1]} class="{kind}"{found[2]}>{found[3]}' if kind else found[0]

    return re.sub(r"<(t[dh])((?: [^>]*)?)>(.*?)(?=</t[dh]>)", cell, body, flags=re.S)


class Renderer:
    def __init__(self, root, site, groups):
        self.root, self.site, self.groups = root, site, groups
        self.headers = reference_files(site)
        self.copied = set()
        self.entries = []  # of the search

    def target(self, page, link):
        """Where a link of a page leads in the site."""
        path, mark, section = link.partition("#")
        if re.match(r"[a-z]+:", link) or not path:
            return link
        here, path = os.path.dirname(page), from_page(page, path)
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

    def body(self, page, text, name_of=slug):
        """A page's HTML. `name_of` gives the id of a heading."""
        text, formulas = without_formulas(text)
        command = [os.environ.get("CMARK_GFM", "cmark-gfm"), "-e", "table", "-e", "autolink"]
        body = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
        headings = iter(heading.lstrip("#").strip() for heading in re.findall(r"^#+ .*", without_code(text), re.M))
        uses = {}

        def heading(found):  # a heading that is there already gets a number, as on forges
            name = name_of(plain(restored(next(headings), formulas)))
            uses[name] = uses.get(name, -1) + 1
            return f'<h{found[1]} id="{name}-{uses[name]}">' if uses[name] else f'<h{found[1]} id="{name}">'

        def link(found):
            return f'{found[1]}="{html.escape(self.target(page, html.unescape(found[2])))}"'

        def name(found):  # long names may go on in the next line after a slash or an underscore
            return found[1] + re.sub(r"(?<=\w)([/_])(?=\w)", r"\1<wbr>", found[2]) + found[3]

        def code(found):  # and options not between their first hyphens and what follows
            return re.sub(r"(?<![\w-])--?\w", r'<span class="option">\g<0></span>', name(found))

        def formula(tex, block):
            return f'<span class="{"block " * block}math">{html.escape(tex)}</span>'

        def picture(found):  # a wide one scrolls on a narrow screen, because its letters would be too small to read
            size = re.search(r'viewBox="\S+ \S+ (\S+)', (self.root / from_page(page, found[2])).read_text())
            return f'<p class="wide">{found[1]}' if size and float(size[1]) > 600 else found[0]

        body = re.sub(r"<h([1-6])>", heading, body)
        body = re.sub(r'<p>(<img src="([^":]*\.svg)")', picture, body)
        body = re.sub(r'(href|src)="([^"]*)"', link, body)
        body = re.sub(r"(?<!<pre>)(<code>)(.*?)(</code>)", code, body)
        body = re.sub(r"(<a [^>]*>)([^<]{20,})(</a>)", name, body)
        body = re.sub(r"\n+</code></pre>", "\n</code></pre>", body)  # as in a doctest, where it ends what is printed
        body = body.replace("<table>", '<div class="wide"><table>').replace("</table>", "</table></div>")
        return restored(body, formulas, formula)

    def page(self, page):
        title, here = title_of(self.root / page), "index.html" if page == "README.md" else page[:-3] + ".html"
        body = with_named_beginnings(self.body(page, with_shown_files((self.root / page).read_text(), self.root)))
        self.entries += search.sections(title, here, body)
        if page == "docs/glossary.md":
            self.entries += search.terms(title, here, body)
        write(self.site / here, framed(self.groups, html.escape(title), with_room(with_anchors(body)), here))

    def python(self, folder, pages):
        """The reference of Python: a page for each module, with a list of its names, which are links wherever used."""
        texts = {file.stem: file.read_text() for file in folder.glob("*.md")}
        known = {f"{module}.{name}" for module, text in texts.items()
                 for name in re.findall(rf"^## {module}\.(\w+)", text, re.M)}
        for module, text in texts.items():
            here = f"python/{module}.html"
            body = self.body(f"python/{module}.md", text, lambda heading: heading.removeprefix(module + "."))
            body = with_links_to_names(with_links_to_pages(body, pages, "../"), module, known)
            title = "The Python package" if module == "index" else f"incontext.{module}"
            if module == "index":
                self.entries += search.sections(title, here, body)
            else:
                self.entries.append([title, title, here, search.text_of(body.partition("<h2")[0]), "Python", 0])
                self.entries += search.names_of_python(title, here, body)
            names = [name.partition(".")[2] for name in sorted(known, key=lambda one: (one.lower(), one)) if name.startswith(module + ".")]
            contents = "".join(f'<li><a href="#{name}">{name.replace("_", "_<wbr>")}</a></li>' for name in names)
            body = with_room(with_anchors(body)).replace("<h2", f'<ul class="names">{contents}</ul>\n<h2', 1)
            write(self.site / here, framed(self.groups, title, body, here))

    def copies(self):
        """What pages link to besides pages: pictures as they are, other files and folders as pages of their own."""
        for path in sorted(self.copied):
            file = self.root / path
            if path.endswith((".svg", ".png")):
                (self.site / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, self.site / path)
                continue
            if file.is_dir():
                content = self.listed(file)
            elif file.is_file():
                content = f"<pre><code>{html.escape(file.read_text())}</code></pre>"
            else:
                continue
            here = f"source/{path}.html"
            write(self.site / here, framed(self.groups, path, f"<h1>{path}</h1>\n{content}", here))

    def listed(self, folder):
        """The names in a folder, which are links where the site has a page of them."""
        items = []
        for name in sorted(entry.name for entry in folder.iterdir()):
            path = str((folder / name).relative_to(self.root))
            page = self.headers.get(path, path[:-3] + ".html" if path.endswith(".md") else f"source/{path}.html")
            there = path in self.headers or path in self.copied or (path.endswith(".md") and (self.site / page).is_file())
            to = os.path.relpath(page, os.path.dirname(f"source/{folder.relative_to(self.root)}"))
            items.append(f'<li><a href="{to}">{html.escape(name)}</a></li>' if there else f"<li>{html.escape(name)}</li>")
        return f"<ul>{''.join(items)}</ul>"


def write(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def with_shown_files(text, root):
    """The text with each file of examples/ that is named in a line of its own, below it."""
    shown = re.compile(r"^\[`(examples/[^`]+\.(cpp|txt))`\]\([^)]+\)$", re.M)
    return shown.sub(lambda found: f"{found[0]}\n\n```{found[2]}\n{(root / found[1]).read_text()}```", text)


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

    code = r"(^```.*?^```|``.+?``|`[^`\n]+`)"
    return re.sub(code + r"|\$\$(.+?)\$\$|\$([^$\n]+?)\$", word, text, flags=re.M | re.S), formulas


def restored(text, formulas, form=lambda tex, block: f"${tex}$"):
    return re.sub(r"FORMULA(\d+)F", lambda match: form(*formulas[int(match[1])]), text)


def reference_files(site):
    """The headers that the reference has a page for, by their place in the repository."""
    found = {}
    for compound in search.tags(site):
        if compound.get("kind") == "file":
            path = compound.findtext("path", "") + compound.findtext("name")
            for folder in "include", "cuda":
                found[f"{folder}/incontext/{path.partition('incontext/')[2]}"] = search.page_of(compound)
    return found


def with_links_to_pages(text, pages, up):
    """A section of a page that a description names is a link."""
    named = re.compile(r"(?<![\w/\"])(docs/[\w/]+|CONTRIBUTING)\.md(#[\w-]+)?")

    def link(found):
        there = f"{found[1]}.md" in pages
        return f'<a href="{up}{found[1]}.html{found[2] or ""}">{found[0]}</a>' if there else found[0]

    return named.sub(link, text)


def with_links_to_names(body, here, known):
    """A name of Python that a text uses with its module is a link, outside of code, headings, formulas and links."""
    kept = r'<(pre|h\d|a|span)\b.*?</\1>|<[^>]*>'

    def link(found):
        if found[2] not in known:
            return found[0]
        module, name = found[2].split(".")
        return f'<a href="{"" if module == here else module + ".html"}#{name}">{found[0]}</a>'

    return re.sub(kept + r"|(?<![\w./])((?:\w+)\.(?:\w+))(?![\w/(])", link, body, flags=re.S)


def doxygen_heading(found):
    """One of Doxygen's headings, with an id and a link to it."""
    name = found[1] or slug(found[2])
    return f'<h2 class="groupheader" id="{name}">{found[2].strip()}{anchor(name)}</h2>'


def finish_reference(root, site, pages):
    """Doxygen's pages lose its links to headings that it then leaves out, and its pages of folders, which are named by
    where on this machine they are. What they name of the repository's pages is a link, and headings have links to
    themselves."""
    for folder in (site / "reference").glob("dir_*.html"):
        folder.unlink()
    for file in (site / "reference").glob("*.html"):
        text = file.read_text()
        new = with_links_to_pages(text, pages, "../")
        new = re.sub(r'<a [^>]*href="dir_[^"]*"[^>]*>(.*?)</a>', r"\1", new).replace(f"{root}/", "")
        there = set(re.findall(r'(?:id|name)="([^"]+)"', new))
        new = re.sub(r'<a href="#([^"]*)">[^<]*</a>( &#124;)?', lambda found: found[0] * (found[1] in there), new)
        new = re.sub(r'<span class="permalink"><a href="#(\w+)">.*?</a></span>(.*?)</h2>',
                     lambda found: found[2] + anchor(found[1]) + "</h2>", new)
        heading = r'<h2 class="groupheader">(?:<a id="([\w-]+)".*?</a>)?(.*?)</h2>'
        new = re.sub(heading, doxygen_heading, new, flags=re.S)
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
            target = from_page(name, path) if path else name
            if not (site / target).exists():
                yield f"{name}: there is no {target}"
            elif section and section not in anchors.get(target, {section}):
                yield f"{name}: {target} has no heading {section}"


def page_from_elsewhere(root, text, others):
    """A page that names the repository's pages, and the `others` like it, from where it was built: their places here, and
    the words alone where there is none."""
    def linked(match):
        place, words = match[1], match[2]
        if place.endswith(".md") and (root / place).is_file():
            return f'<a href="{place.removesuffix(".md")}.html">{words}</a>'
        name = place.rpartition("/")[2]
        return f'<a href="{name}">{words}</a>' if name in others else words

    return re.sub(r'<a href="(?:\.\./)+([^"]*)">(.*?)</a>', linked, text)


def copy_assets(site):
    """Styles, scripts and KaTeX."""
    for name in "style.css", "site.js", "search.js":
        shutil.copyfile(SOURCE / name, site / "assets" / name)
    katex = Path(os.environ.get("KATEX", "/usr/share/javascript/katex"))
    for name in "katex.min.css", "katex.min.js", "contrib/auto-render.js":
        shutil.copyfile(katex / name, site / "assets" / Path(name).name)
    for font in (katex / "fonts").glob("*.woff2"):
        (site / "assets/fonts").mkdir(exist_ok=True)
        shutil.copyfile(font, site / "assets/fonts" / font.name)


def main(step, root, site, *extra):
    root, site = Path(root), Path(site)
    own = [name.partition("=") for name in extra]
    own = [(title, Path(file)) for title, _, file in own if Path(file).is_file()]
    modules, missing = python_reference(root, site / "frame/python")
    groups = navigation(root, step == "frame" or (site / "reference").is_dir(), modules)
    groups[0][1].extend((title, file.name) for title, file in own)
    if step == "frame":
        scripts = "".join(f'<script src="$relpath^{name}"></script>' for name in ("jquery.js", "dynsections.js"))
        header, footer = framed(groups, "$title", "{content}", up="$relpath^../", head=scripts).split("{content}")
        write(site / "frame/header.html", header)
        write(site / "frame/footer.html", footer)
        return 0
    if not modules:
        print(f"build.py: the site is without the reference of Python: {missing}", file=sys.stderr)
    for _, file in own:
        write(site / file.name, page_from_elsewhere(root, file.read_text(), {other.name for _, other in own}))
    pages = pages_of(root)
    renderer = Renderer(root, site, groups)
    for page in pages:
        renderer.page(page)
    if modules:
        renderer.python(modules, pages)
    renderer.copies()
    finish_reference(root, site, pages)
    index = [*renderer.entries, *search.names_of_cpp(site)]
    write(site / "assets/index.js", f"searchIndex({json.dumps(index, ensure_ascii=False, separators=(',', ':'))});\n")
    copy_assets(site)
    shutil.rmtree(site / "frame", ignore_errors=True)
    (site / "reference.tag").unlink(missing_ok=True)
    broken = list(broken_links(site))
    print("\n".join(broken))
    print(f"{len(pages)} pages{' and the reference of Python' * bool(modules)}, {len(index)} entries of the search, "
          f"{len(broken)} links that lead nowhere: {site / 'index.html'}")
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
