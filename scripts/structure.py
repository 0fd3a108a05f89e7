#!/usr/bin/env python3
"""Counts the structure and the language of the sources, and compares them with their bounds.

usage: structure.py [--check] [--list WHAT] [FOLDER]
  --check      exit status 1 where a bound is missed
  --list WHAT  the places behind a count: circles, tuples, words, openings, names or long
Reads files as text: `use` declarations for the imports, without `pub use`, which only passes names
on.
"""

import argparse
import re
import signal
import sys
from collections import defaultdict
from pathlib import Path

LARGEST_CIRCLE = 6
LONGEST_FILE = 500
MAX_WORDS = 20
# Words that have a plain technical equivalent (CONTRIBUTING.md, Language).
WORDS = ["say", "says", "said", "tell", "tells", "told", "hear", "hears", "heard", "anew", "lest",
         "by and by", "so many", "of whom", "becomes of", "whoever"]
# A doc comment begins with the thing itself. "Whether" is the usual opening for a bool.
OPENING = re.compile(r"(?:What|When|Where|Why|How|Who|Whom|Whose|Which)\b"
                     r"|(?:Of|To|In|On|At|By|For|From|With)\s+(?:what|whom|whose|which)\b")
DOC = re.compile(r"\s*(//!|///(?!/)) ?(.*)")
# Names that several structs shared; a name must state of what.
NAMES = ["Row", "Place", "Header", "Sheet", "Seat", "Item"]
DECLARED = re.compile(
    r"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:const\s+|async\s+|unsafe\s+)*"
    r"(?:struct|enum|trait|fn|type|const|static|union|macro_rules!)\s+(?:mut\s+)?(\w+)", re.M)
# A parameter that is a tuple without names for its parts: `(number, route): (u32, Cursor)`. A point
# `(x, y)` is none.
TUPLE = re.compile(r"[(,]\s*(?:&(?:mut )?)?\((?!x, y\))(?:\s*(?:mut )?\w+\s*,?)+\)\s*:\s*&?(?:mut )?\(")


def strip(text):
    """The text without comments and strings, so that braces and `use` mean what they seem to."""
    text = re.sub(r'r(#*)".*?"\1', '""', text, flags=re.S)
    text = re.sub(r'"(?:\\.|[^"\\])*"', '""', text, flags=re.S)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return re.sub(r"//[^\n]*", "", text)


def is_test(path):
    parts = path.parts
    return "tests" in parts or "benches" in parts or "examples" in parts or parts[-1] == "tests.rs"


def signatures(code):
    """The parameter lists of all functions."""
    for match in re.finditer(r"\bfn\s+\w+\s*(?:<[^{;(]*?>)?\s*\(", code):
        depth, end = 1, match.end()
        while depth and end < len(code):
            depth += {"(": 1, ")": -1}.get(code[end], 0)
            end += 1
        yield code[match.end() - 1:end]


def flatten(tree):
    """`a::{b, c::d as e}` as [["a", "b"], ["a", "c", "d"]]."""
    tree = tree.strip()
    brace = tree.find("{")
    if brace < 0:
        return [[p.strip() for p in re.sub(r"\s+as\s+\w+$", "", tree).split("::") if p.strip()]]
    head = [p.strip() for p in tree[:brace].split("::") if p.strip()]
    inside, parts, depth, start = tree[brace + 1:tree.rindex("}")], [], 0, 0
    for at, char in enumerate(inside):
        depth += {"{": 1, "}": -1}.get(char, 0)
        if char == "," and not depth:
            parts.append(inside[start:at])
            start = at + 1
    parts.append(inside[start:])
    return [head + rest for part in parts if part.strip() for rest in flatten(part)]


def openings(text):
    """The numbers and first lines of the doc comments that do not begin with the thing itself."""
    previous = None
    for number, line in enumerate(text.splitlines(), 1):
        doc = DOC.match(line)
        kind = doc and doc.group(1)
        if kind and kind != previous and OPENING.match(doc.group(2)):
            yield number, doc.group(2)
        previous = kind


class Crate:
    """The modules of a crate, what each declares, passes on and imports."""

    def __init__(self, root):
        self.files, self.names, self.passed, self.uses = {}, {}, defaultdict(dict), {}
        for path in sorted((root / "src").rglob("*.rs")):
            if is_test(path.relative_to(root)):
                continue
            parts = path.relative_to(root / "src").with_suffix("").parts
            module = tuple(p for p in parts if p not in ("lib", "main", "mod"))
            code = strip(path.read_text())
            code = re.sub(r"#\[cfg\(test\)\]\s*mod \w+ \{.*", "", code, flags=re.S)
            self.files[module] = path
            self.names[module] = set(DECLARED.findall(code))
            self.uses[module] = []
            for public, tree in re.findall(r"^\s*(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);", code, re.M):
                for target in flatten(tree):
                    if public:
                        self.passed[module][target[-1]] = target
                    self.uses[module].append((bool(public), target))
            inline = re.findall(r"\b((?:crate|super)(?:::\w+)+)", re.sub(r"\buse\s[^;]+;", "", code))
            self.uses[module] += [(False, target.split("::")) for target in inline]

    def absolute(self, module, target):
        target, base = list(target), None
        if target[0] == "crate":
            return (), target[1:]
        if target[0] == "self":
            return module, target[1:]
        while target and target[0] == "super":
            base, target = (module if base is None else base)[:-1], target[1:]
        if base is not None:
            return base, target
        return (module, target) if module + (target[0],) in self.files else (None, target)

    def resolve(self, module, target, depth=0):
        """The modules whose declarations `target` names, seen from `module`."""
        base, rest = self.absolute(module, target)
        if base is None or depth > 8:
            return
        while rest and base + (rest[0],) in self.files:
            base, rest = base + (rest[0],), rest[1:]
        if not rest or base not in self.files:
            return
        name = rest[0]
        if name in self.passed[base] and name not in self.names[base]:
            yield from self.resolve(base, self.passed[base][name], depth + 1)
        elif name in self.names[base]:
            yield base

    def arrows(self):
        for module, uses in self.uses.items():
            for public, target in uses:
                if public:
                    continue
                for found in self.resolve(module, target):
                    if found != module:
                        yield module, found


def circles(arrows):
    """The strongly connected components of more than one module (Tarjan)."""
    sys.setrecursionlimit(10000)
    graph = defaultdict(set)
    for a, b in arrows:
        graph[a].add(b)
    index, low, on, stack, found = {}, {}, set(), [], []

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        on.add(v)
        for w in graph[v]:
            if w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in on:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            part = []
            while True:
                w = stack.pop()
                on.discard(w)
                part.append(w)
                if w == v:
                    break
            if len(part) > 1:
                found.append(part)

    for v in list(graph):
        if v not in index:
            visit(v)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", default=".", type=Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--list", choices=["circles", "tuples", "words", "openings", "names", "long"])
    options = parser.parse_args()
    found = defaultdict(list)
    files = lines = 0
    sizes = []
    for root in sorted(p.parent for p in options.folder.glob("crates/*/Cargo.toml")):
        crate = Crate(root)
        for part in circles(crate.arrows()):
            sizes.append(len(part))
            paths = sorted(str(crate.files[m].relative_to(options.folder)) for m in part)
            found["circles"].append(f"{len(part)} files: {', '.join(paths)}")
        for path in sorted(root.rglob("*.rs")):
            text, place = path.read_text(), path.relative_to(options.folder)
            code = strip(text)
            files += 1
            count = sum(1 for line in code.splitlines() if line.strip())
            lines += count
            if text.count("\n") > LONGEST_FILE:
                found["long"].append(f"{place}: {text.count(chr(10))} lines")
            for parameters in signatures(code):
                found["tuples"] += [f"{place}: {' '.join(m.group().split()).strip('(, ')}" for m in TUPLE.finditer(parameters)]
            for number, line in enumerate(text.splitlines(), 1):
                words = re.split(r"[^a-z]+", re.sub(r"([a-z])([A-Z])", r"\1_\2", line).lower())
                plain = " ".join(words)
                hits = sum(words.count(w) if " " not in w else plain.count(w) for w in WORDS)
                found["words"] += [f"{place}:{number}: {line.strip()}"] * hits
            found["openings"] += [f"{place}:{number}: {line}" for number, line in openings(text)]
            for name in NAMES:
                declared = re.findall(rf"\b(?:struct|enum)\s+{name}\b", code)
                found["names"] += [f"{place}: {name}"] * len(declared)
    if options.list:
        print("\n".join(found[options.list]))
        return 0
    largest = max(sizes, default=0)
    rows = [
        ("files", files, None),
        ("lines of code, without comments and blank lines", lines, None),
        ("files above 500 lines", len(found["long"]), 0),
        ("circles of imports", len(sizes), None),
        ("files in the largest circle", largest, LARGEST_CIRCLE),
        ("parameters that are unnamed tuples", len(found["tuples"]), 0),
        ("words with a plain technical equivalent", len(found["words"]), MAX_WORDS),
        ("doc comments that begin with a question word", len(found["openings"]), 0),
        (f"types named {', '.join(NAMES)}", len(found["names"]), 0),
    ]
    missed = False
    for what, count, bound in rows:
        verdict = "" if bound is None else f"  (at most {bound})"
        missed |= bound is not None and count > bound
        print(f"{count:8}  {what}{verdict}")
    return 1 if missed and options.check else 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
