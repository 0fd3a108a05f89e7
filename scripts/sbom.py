#!/usr/bin/env python3
"""Prints the software bill of materials (CycloneDX 1.6) of a program built from this workspace.

usage: SOURCE_DATE_EPOCH=SECONDS sbom.py PROGRAM
Lists what the program links on this platform, with the features of a build. The same sources,
compiler and program yield the same bytes.
"""

import hashlib
import json
import os
import sys
import tomllib
import uuid
from datetime import datetime, timezone
from pathlib import Path
from urllib.parse import quote

import cargo_graph
from cargo_graph import PROGRAM, TOP, Linked, Package


def licence(expression):
    """CycloneDX takes SPDX expressions; old crates write a slash for OR."""
    return [{"expression": expression.replace("/", " OR ")}]


def properties(pairs):
    """The non-empty ones of the pairs of name and value."""
    found = [{"name": name, "value": value} for name, value in pairs if value]
    return {"properties": found} if found else {}


def reference(package):
    """The identifier of a package within the document."""
    return f"{package.name}@{package.version}"


def component(package, facts, checksums, features):
    """A crate as a component; those of the workspace are on no registry and have no checksum."""
    entry = {
        "type": "library",
        "bom-ref": reference(package),
        "name": package.name,
        "version": package.version,
        "licenses": licence(facts["license"]),
    }
    if facts["source"]:
        entry["hashes"] = [{"alg": "SHA-256", "content": checksums[package]}]
        entry["purl"] = f"pkg:cargo/{package.name}@{quote(package.version)}"
    if facts["repository"]:
        entry["externalReferences"] = [{"type": "vcs", "url": facts["repository"]}]
    return entry | properties([("cargo:features", ",".join(sorted(features)))])


def standard_library(release, commit):
    """The standard library, which rustc links without cargo."""
    return {
        "type": "library",
        "bom-ref": f"rust-std@{release}",
        "name": "rust-std",
        "version": release,
        "licenses": licence("MIT OR Apache-2.0"),
        "purl": f"pkg:generic/rust-std@{release}",
        "externalReferences": [{"type": "vcs", "url": "https://github.com/rust-lang/rust"}],
    } | properties([("rustc:commit", commit)])


def document(program):
    """The document for the bytes of the program in the file `program`."""
    target, release, commit = cargo_graph.host()
    linked = Linked(target)
    facts = cargo_graph.packages(cargo_graph.metadata(target))
    lock = tomllib.loads((TOP / "Cargo.lock").read_text())["package"]
    checksums = {Package(p["name"], p["version"]): p.get("checksum") for p in lock}

    crates = sorted(linked.closure(PROGRAM))
    root = next(package for package in crates if package.name == PROGRAM)
    library = standard_library(release, commit)
    digest = hashlib.sha256(program.read_bytes()).hexdigest()
    main = component(root, facts[root], checksums, linked.features[root]) | {
        "type": "application",
        "description": facts[root]["description"],
        "hashes": [{"alg": "SHA-256", "content": digest}],
        "purl": f"pkg:generic/{root.name}@{root.version}",
    }
    edges = {package: [reference(d) for d in linked.dependencies[package]] for package in crates}
    edges[root].append(library["bom-ref"])
    time = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), timezone.utc)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": uuid.uuid5(uuid.NAMESPACE_URL, f"{facts[root]['repository']}#{digest}").urn,
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "lifecycles": [{"phase": "build"}],
            "component": main,
        } | properties([("rustc:target", target), ("rustc:release", release)]),
        "components": [component(package, facts[package], checksums, linked.features[package])
                       for package in crates if package != root] + [library],
        "dependencies": [{"ref": reference(package), "dependsOn": sorted(edges[package])}
                         for package in crates] + [{"ref": library["bom-ref"]}],
    }


if __name__ == "__main__":
    if len(sys.argv) != 2 or "SOURCE_DATE_EPOCH" not in os.environ:
        sys.exit(__doc__)
    json.dump(document(Path(sys.argv[1])), sys.stdout, indent=1)
    print()
