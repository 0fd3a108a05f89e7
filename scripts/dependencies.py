#!/usr/bin/env python3
"""Compares docs/dependencies.md with the dependencies of the workspace.

usage: dependencies.py [--renew]
  --renew  write the columns and counts that follow from the sources, and the lines of new
           dependencies, for which a reason is then to be written
A direct dependency without a line or without a reason fails, and so does a line that differs from
the sources, and a version in Cargo.toml that no crate uses.
"""

import re
import sys
import tomllib
from pathlib import Path

import cargo_graph
from cargo_graph import PROGRAM, TOP, Linked
from structure import strip

PAGE = TOP / "docs" / "dependencies.md"
# The page describes one platform, whatever this machine is.
TARGET = "x86_64-unknown-linux-gnu"
NODE = "polypath-live"
# The folders of further workspaces, with their package and what it is for.
WORKSPACES = {"fuzz": ("polypath-fuzz", "fuzzing"), "models": ("polypath-models", "models")}
ROW = re.compile(r"\| `([\w-]+)` \|([^|]*)\|([^|]*)\|")
UNSAFE = re.compile(r"\bunsafe\s*(?:\{|fn\b|impl\b|extern\b)")
COUNT = re.compile(r"\| ((?:crates|proc macros) .*) \| .* \|$")


def has_unsafe(package):
    """Whether a source file of the package contains `unsafe` code."""
    library = next(t for t in package["targets"] if "custom-build" not in t["kind"])
    files = Path(library["src_path"]).parent.rglob("*.rs")
    sources = (file.read_text(errors="replace") for file in files
               if not {"tests", "benches"} & set(file.parts))
    # `strip` takes the character '"' for the beginning of a string.
    return any(UNSAFE.search(strip(text.replace("'\"'", "''"))) for text in sources
               if "unsafe" in text)


def has_target(package, kind):
    """Whether the package has a target of the kind `custom-build` or `proc-macro`."""
    return any(kind in target["kind"] for target in package["targets"])


class Workspace:
    """Our crates and those on which they depend."""

    def __init__(self):
        self.linked = Linked(TARGET)
        self.program = self.linked.closure(PROGRAM)
        self.node = self.linked.closure(NODE)
        facts = cargo_graph.metadata(TARGET)
        self.packages = cargo_graph.packages(facts)
        others = [cargo_graph.metadata(TARGET, f"{name}/Cargo.toml") for name in WORKSPACES]
        all_facts = [*others, facts]
        self.by_id = {p["id"]: p for each in all_facts for p in each["packages"]}
        self.users = {}
        for each in reversed(all_facts):
            for node in each["resolve"]["nodes"]:
                self.add_users(node)
        self.nodes = {n["id"]: n for each in all_facts for n in each["resolve"]["nodes"]}

    def add_users(self, node):
        """Records the direct external dependencies of a crate of ours."""
        user = self.by_id[node["id"]]
        if user["source"]:
            return
        for dependency in node["deps"]:
            if self.by_id[dependency["pkg"]]["source"]:
                kinds = {kind["kind"] or "normal" for kind in dependency["dep_kinds"]}
                self.users.setdefault(dependency["pkg"], []).append((user["name"], kinds))

    def runs_macro(self, key):
        """Whether the package is a proc macro, or passes on those of a direct dependency."""
        names = [key, *(d["pkg"] for d in self.nodes[key]["deps"])]
        return any(has_target(self.by_id[name], "proc-macro") for name in names)

    def place(self, key):
        """The part of ours that links the package: the node, the whole program, or neither."""
        users = {name for name, kinds in self.users[key] if "normal" in kinds}
        if users & {package.name for package in self.node}:
            return "node"
        if users & {package.name for package in self.program}:
            return "program"
        for name, place in WORKSPACES.values():
            if users == {name}:
                return place
        return "faults" if users else "tests"

    def direct(self):
        """The cells of each direct dependency that follow from the sources."""
        rows = {}
        for key in self.users:
            package = self.by_id[key]
            repository = package["repository"].removesuffix(".git").rstrip("/")
            marks = ["unsafe"] * has_unsafe(package)
            marks += ["build script"] * has_target(package, "custom-build")
            marks += ["macro"] * self.runs_macro(key)
            rows[package["name"]] = [
                f"[{repository.split('/')[3]}]({repository})",
                package["license"].replace("/", " OR "),
                ", ".join(marks) or "none of these",
                self.place(key),
            ]
        return rows

    def counts(self):
        """The rows about all crates, transitive ones included."""
        external = [p for p in self.program if self.packages[p]["source"]]
        node = [p for p in external if p in self.node]
        names = [p.name for p in external]
        twice = sorted(p for p in external if names.count(p.name) > 1)
        macros = {p for p in self.packages if has_target(self.packages[p], "proc-macro")}
        return {
            "crates that the program links": len(external),
            "crates of these that a node uses": len(node),
            "crates of these with `unsafe` code":
                sum(has_unsafe(self.packages[p]) for p in external),
            "crates of these with a build script":
                sum(has_target(self.packages[p], "custom-build") for p in external),
            "proc macros that a build of the workspace runs": len(macros & self.resolved()),
            "crates that the program links in several versions":
                ", ".join(f"`{p.name}` {p.version}" for p in twice),
        }

    def resolved(self):
        """The packages that the target platform needs."""
        return {cargo_graph.Package(p["name"], p["version"])
                for p in (self.by_id[key] for key in self.nodes)}


def renewed(text, rows, counts):
    """The page with the cells of `rows` and `counts`, and the lines of new dependencies."""
    lines, seen, last = [], set(), None
    for line in text.splitlines():
        row, count = ROW.match(line), COUNT.match(line)
        if row:
            name, purpose, alternative = (cell.strip() for cell in row.groups())
            if name not in rows:
                continue
            line = f"| `{name}` | {purpose} | {alternative} | {' | '.join(rows[name])} |"
            seen.add(name)
            last = len(lines) + 1
        elif count and count[1] in counts:
            line = f"| {count[1]} | {counts[count[1]]} |"
        lines.append(line)
    new = [f"| `{name}` |  |  | {' | '.join(rows[name])} |" for name in sorted(set(rows) - seen)]
    lines[last:last] = new
    return "\n".join(lines) + "\n"


def without_reason(text):
    """The dependencies whose line does not state what they are for, or what they replace."""
    rows = (ROW.match(line) for line in text.splitlines())
    return [row[1] for row in rows if row and not (row[2].strip() and row[3].strip())]


def unused(rows):
    """The external versions in Cargo.toml that no crate uses."""
    stated = tomllib.loads((TOP / "Cargo.toml").read_text())["workspace"]["dependencies"]
    return sorted(name for name, value in stated.items()
                  if name not in rows and not (isinstance(value, dict) and "path" in value))


def main():
    workspace = Workspace()
    rows = workspace.direct()
    text = PAGE.read_text()
    expected = renewed(text, rows, workspace.counts())
    if "--renew" in sys.argv[1:]:
        PAGE.write_text(expected)
        text = expected
    problems = [f"{name} has no reason" for name in without_reason(expected)]
    problems += [f"Cargo.toml has {name}, which no crate uses" for name in unused(rows)]
    before, after = text.splitlines(), expected.splitlines()
    problems += [f"outdated: {line}" for line in before if line not in after]
    problems += [f"expected: {line}" for line in after if line not in before]
    for problem in problems:
        print(f"dependencies: {problem}")
    if problems:
        sys.exit("dependencies: correct docs/dependencies.md, with `make dependencies RENEW=--renew`")
    print(f"dependencies: {len(rows)} direct ones, each with a reason")


if __name__ == "__main__":
    main()
