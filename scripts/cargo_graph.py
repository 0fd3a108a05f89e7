"""The packages of the workspace, and which of them the program links."""

import json
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

sys.dont_write_bytecode = True

TOP = Path(__file__).resolve().parent.parent
PROGRAM = "polypath"

# A package in a build: `version` without its metadata is that of the package.
Package = namedtuple("Package", "name version")


def cargo(*arguments):
    """The output of cargo in the workspace; ends the script if cargo fails."""
    done = subprocess.run(["cargo", *arguments], cwd=TOP, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.returncode)
    return done.stdout


def host():
    """The host's target triple, and the version and commit of the compiler."""
    output = subprocess.run(["rustc", "-vV"], cwd=TOP, check=True, capture_output=True, text=True)
    facts = dict(line.split(": ", 1) for line in output.stdout.splitlines() if ": " in line)
    return facts["host"], facts["release"], facts["commit-hash"]


def metadata(target, manifest="Cargo.toml"):
    """`cargo metadata` for one target triple."""
    return json.loads(cargo("metadata", "--format-version", "1", "--locked", "--quiet",
                            "--filter-platform", target, "--manifest-path", str(TOP / manifest)))


def packages(facts):
    """The packages of `cargo metadata` by name and version."""
    return {Package(p["name"], p["version"]): p for p in facts["packages"]}


class Linked:
    """The packages that a build of the workspace links, with their features and dependencies.

    `cargo metadata` unites the features and dependencies of all targets, tests and build scripts;
    only `cargo tree` resolves them as a build does.
    """

    def __init__(self, target):
        self.features, self.dependencies = {}, {}
        tree = cargo("tree", "--locked", "--quiet", "--workspace", "--target", target,
                     "--edges", "normal,no-proc-macro", "--prefix", "depth",
                     "--format", "\t{p}\t{f}\t")
        ancestors = []
        for line in filter(None, tree.splitlines()):
            depth, package, features, _ = line.split("\t")
            package = Package(package.split()[0], package.split()[1].removeprefix("v"))
            self.features.setdefault(package, set()).update(filter(None, features.split(",")))
            self.dependencies.setdefault(package, set())
            del ancestors[int(depth):]
            if ancestors:
                self.dependencies[ancestors[-1]].add(package)
            ancestors.append(package)

    def closure(self, name):
        """The package `name` of the workspace and all that it links."""
        waiting = [package for package in self.dependencies if package.name == name]
        found = set()
        while waiting:
            package = waiting.pop()
            if package not in found:
                found.add(package)
                waiting.extend(self.dependencies[package])
        return found
