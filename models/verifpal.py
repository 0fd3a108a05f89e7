#!/usr/bin/env python3
"""Checks the Verifpal models of models/verifpal against the results that they state.

usage: verifpal.py VERIFPAL OUTPUT [MODEL ...]
  VERIFPAL is the program, OUTPUT the directory for the complete models.

A line `//@ include PART [NAME=NAME ...] [prefix=PREFIX]` stands for a file of parts/, with names
replaced, and all others of the protocol prefixed. A line `//@ sessions N` sets the number of
concurrent sessions (2 by default); `//@ slow` excludes a model from CI. Above each query is a
comment that begins with the expected result, `holds` or `fails`. Exit code 1 if any result differs.
"""

import json
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).parent / "verifpal"
# Words that a prefix leaves alone: those of the language, public constants, static keys and roles.
FIXED = set(
    """_ nil knows private public generates leaks principal protocol prologue zero mac_label psk
    is gis rs grs Initiator Responder Relay""".split()
)


def include(line: str) -> str:
    """The text of the part that an include line names."""
    part, *options = line.split()[2:]
    renames = dict(option.split("=") for option in options)
    prefix = renames.pop("prefix", "")

    def rename(match: re.Match) -> str:
        word = match[0]
        if word in renames:
            return renames[word]
        return word if word in FIXED or word.isupper() else prefix + word

    text = expand(ROOT / "parts" / part)
    lines = text.splitlines()
    return "\n".join(
        entry if entry.startswith("//") else re.sub(r"\b[A-Za-z_]\w*", rename, entry)
        for entry in lines
    )


def expand(path: pathlib.Path) -> str:
    """The text of a model with all of its parts."""
    lines = path.read_text().splitlines()
    return "\n".join(include(line) if line.startswith("//@ include") else line for line in lines)


def expectations(text: str) -> list[tuple[str, bool]]:
    """Each query and whether it holds, from the comment above it."""
    block = text[text.index("queries[") :]
    entries = re.findall(r"// (holds|fails)\b[^\n]*\n\t(\w+\? [^\n]*)", block)
    queries = re.findall(r"^\t\w+\?", block, re.MULTILINE)
    if len(entries) != len(queries):
        sys.exit("verifpal: a query has no expected result above it")
    return [(query, expected == "holds") for expected, query in entries]


def difference(result: dict, expected: tuple[str, bool]) -> list[str]:
    """Lines about a result that is not as expected."""
    query, holds = expected
    if holds == result["resolved"]:
        verb = "hold" if holds else "fail"
        return [f"  {query}: expected to {verb}, and does not", f"    {result['conclusion']}"]
    return []


def check(program: str, path: pathlib.Path, output: pathlib.Path) -> bool:
    """Runs one model; prints and returns whether all results are as expected."""
    text = expand(path)
    complete = output / path.name
    complete.write_text(text + "\n")
    found = re.search(r"^//@ sessions (\d+)$", text, re.MULTILINE)
    sessions = found[1] if found else "2"
    start = time.monotonic()
    command = [program, "verify", complete, "--sessions", sessions, "--format", "json"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        errors = re.findall(r'"error":"((?:[^"\\]|\\.)*)"', run.stdout)
        print(f"{path.stem}: {' '.join(errors) or run.stderr}")
        return False
    queries = json.loads(run.stdout)["models"][0]["analysis"]["queries"]
    expected = expectations(text)
    results = list(zip(queries, expected, strict=True))
    differs = [line for result in results for line in difference(*result)]
    # The tool bounds the terms that an attacker builds; where it met that bound, it says so.
    truncated = sum(
        holds and not query["envelope"]["exhausted"] for query, (_, holds) in results
    )
    note = f", {truncated} searches within a bounded term depth" if truncated else ""
    fails = sum(not holds for _, holds in expected)
    seconds = time.monotonic() - start
    print(
        f"{path.stem:<26} {sessions} sessions, {len(expected) - fails:>2} to hold, "
        f"{fails} to fail, {seconds:.1f} s{note}",
        *differs,
        sep="\n",
        flush=True,
    )
    return not differs


def main() -> None:
    program, output, *wanted = sys.argv[1:]
    directory = pathlib.Path(output)
    directory.mkdir(parents=True, exist_ok=True)
    paths = [path for path in sorted(ROOT.glob("*.vp")) if not wanted or path.stem in wanted]
    results = [check(program, path, directory) for path in paths]
    sys.exit(0 if results and all(results) else 1)


if __name__ == "__main__":
    main()
