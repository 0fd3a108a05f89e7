#!/usr/bin/env python3
"""Shows that the models can fail: each deliberate defect of the session must violate its property.

usage: mutants.py --places
       mutants.py DIRECTORY TARGET
  --places  only checks that each defect has its place in the sources
  DIRECTORY gets a copy of the sources with all defects, of which an environment variable selects
  one; TARGET is the target directory of cargo.

Exit code 1 if a defect is not found, or if its text is no longer in the sources exactly once.
"""

import os
import pathlib
import subprocess
import sys
import time
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
SESSION = pathlib.Path("crates/session/src")
SOURCES = [
    "Cargo.toml",
    "crates/core",
    "crates/session",
    "models/Cargo.toml",
    "models/Cargo.lock",
    "models/src",
]


class Edit(NamedTuple):
    """In `file`, `new` replaces `old`; `MUTANT` in it stands for whether the defect is selected."""

    file: str
    old: str
    new: str


class Mutant(NamedTuple):
    """A defect, the model that must find it, and the beginning of the property that must fail."""

    name: str
    model: str
    property: str
    edits: list[Edit]


MUTANTS = [
    Mutant(
        "the responder uses keys that are not confirmed",
        "opening",
        "a node seals only with keys that the peer has confirmed",
        [
            Edit(
                "session/initiations.rs",
                "self.keys.await_confirmation(pair);",
                "if MUTANT { self.keys.rotate(now, pair, false, &self.limits); }"
                " else { self.keys.await_confirmation(pair); }",
            )
        ],
    ),
    Mutant(
        "no handshake has precedence",
        "opening",
        "a network that delivers leads to the same keys at both nodes",
        [
            Edit(
                "session/attempts.rs",
                "        !self.peer_has_precedence() && (is_pending || is_late)",
                "        !MUTANT && !self.peer_has_precedence() && (is_pending || is_late)",
            ),
            Edit(
                "session.rs",
                "let awaits = self.attempts.peer_has_precedence();",
                "let awaits = !MUTANT && self.attempts.peer_has_precedence();",
            ),
        ],
    ),
    Mutant(
        "the counter does not advance",
        "nonces",
        "no nonce is used twice with a key",
        [
            Edit(
                "keypair.rs",
                "state.sent += 1;",
                "state.sent += u64::from(!MUTANT);",
            )
        ],
    ),
    Mutant(
        "the instance is ignored",
        "restart",
        "a restart is reported before the first frame after it",
        [
            Edit(
                "handshake.rs",
                "instance: u64::from_be_bytes(instance),",
                "instance: if MUTANT { 0 } else { u64::from_be_bytes(instance) },",
            )
        ],
    ),
    Mutant(
        "an answer to the peer drops the handshake under way",
        "restart",
        "a network that delivers leads to the same keys at both nodes",
        [
            Edit(
                "session/attempts.rs",
                "let own = self.handshake_info(is_used).ok()?;\n        let secret",
                "if MUTANT { self.pending = None; }\n"
                "        let own = self.handshake_info(is_used).ok()?;\n        let secret",
            )
        ],
    ),
    Mutant(
        "the timestamp is not compared",
        "restart",
        "each run of a node derives keys from an initiation once at most",
        [
            Edit(
                "session/attempts.rs",
                "if initiation.timestamp <= self.seen.newest(self.clock.read(now)) {",
                "if !MUTANT && initiation.timestamp <= self.seen.newest(self.clock.read(now)) {",
            )
        ],
    ),
    Mutant(
        "the replay window does not advance",
        "restart",
        "no frame is opened twice",
        [
            Edit(
                "keypair.rs",
                "state.replay_window.accept(nonce.counter);",
                "if !MUTANT { state.replay_window.accept(nonce.counter); }",
            )
        ],
    ),
    Mutant(
        "initiations from the peer's address have no limit",
        "cookies",
        "an attacker causes no more decryptions than the budgets allow",
        [
            Edit(
                "session/admission.rs",
                "RATE.admits(&mut limiters.of_peer_address, now)",
                "(MUTANT || RATE.admits(&mut limiters.of_peer_address, now))",
            )
        ],
    ),
    Mutant(
        "cookies are not recognised",
        "cookies",
        "during a flood a handshake takes two attempts at most",
        [
            Edit(
                "session/cookie.rs",
                "if mac.is_absent() {",
                "if MUTANT || mac.is_absent() {",
            )
        ],
    ),
    Mutant(
        "new keys of any instance count as a restart",
        "opening",
        "each restart is reported once at most, and no other",
        [
            Edit(
                "keyring.rs",
                "before.is_some_and(|before| before != instance)",
                "MUTANT || before.is_some_and(|before| before != instance)",
            )
        ],
    ),
    Mutant(
        "a copy of an initiation delays the own one",
        "opening",
        "a datagram that is rejected as a copy changes nothing",
        [
            Edit(
                "session/attempts.rs",
                "if matches!(known, Known::Copy) {\n",
                "if matches!(known, Known::Copy) {\n"
                "            if MUTANT { self.schedule.deadline = now + PRECEDENCE_TIME; }\n",
            )
        ],
    ),
    Mutant(
        "an attempt does not delay the next",
        "opening",
        "each deadline is later than the one before",
        [
            Edit(
                "session/schedule.rs",
                "self.deadline = now + backoff(attempts);",
                "self.deadline = if MUTANT { now } else { now + backoff(attempts) };",
            )
        ],
    ),
    Mutant(
        "a frame loses its first byte",
        "nonces",
        "a frame that opens was sent by the peer",
        [
            Edit(
                "session/receive.rs",
                "out(Output::Opened { path, frame });",
                "let frame = frame.slice(usize::from(MUTANT)..);\n"
                "                out(Output::Opened { path, frame });",
            )
        ],
    ),
]


def sources_with_defects() -> dict[pathlib.Path, str]:
    """The texts of all files, with all defects."""
    texts = {}
    for name in SOURCES:
        path = ROOT / name
        for file in [path] if path.is_file() else path.rglob("*"):
            if file.is_file():
                texts[file.relative_to(ROOT)] = file.read_text()
    for number, mutant in enumerate(MUTANTS):
        for edit in mutant.edits:
            file = SESSION / edit.file
            count = texts[file].count(edit.old)
            if count != 1:
                sys.exit(f"mutants: {mutant.name}: its text is in {file} {count} times, not once")
            new = edit.new.replace("MUTANT", f"crate::mutant({number})")
            texts[file] = texts[file].replace(edit.old, new)
    texts[SESSION / "lib.rs"] += f"""
/// Whether this deliberate defect is selected.
pub(crate) fn mutant(number: usize) -> bool {{
    static SELECTED: std::sync::LazyLock<Option<usize>> =
        std::sync::LazyLock::new(|| std::env::var("MUTANT").ok()?.parse().ok());
    *SELECTED == Some(number)
}}
"""
    return texts


def write_sources(texts: dict[pathlib.Path, str], directory: pathlib.Path) -> None:
    """Writes the files whose text changes."""
    for file, text in texts.items():
        path = directory / file
        if not path.exists() or path.read_text() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


def is_found(program: pathlib.Path, number: int, mutant: Mutant) -> bool:
    """Explores the model of a defect; prints what was found."""
    start = time.monotonic()
    command = [program, "--reduced", mutant.model]
    environment = {**os.environ, "MUTANT": str(number)}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    lines = run.stdout.splitlines()
    prefix = "  does not hold: "
    failed = [line.removeprefix(prefix) for line in lines if line.startswith(prefix)]
    seconds = time.monotonic() - start
    found = run.returncode == 1 and any(line.startswith(mutant.property) for line in failed)
    result = failed[0] if found else f"not found: {run.stdout}{run.stderr}"
    print(f"{mutant.name} ({mutant.model}, {seconds:.1f} s): {result}", flush=True)
    return found


def main() -> None:
    is_check = sys.argv[1:] == ["--places"]
    if not is_check and len(sys.argv) != 3:
        sys.exit(__doc__)
    texts = sources_with_defects()
    if is_check:
        print(f"mutants: each of {len(MUTANTS)} defects has its place in the sources")
        return
    directory, target = (pathlib.Path(arg).resolve() for arg in sys.argv[1:])
    write_sources(texts, directory)
    manifest = directory / "models" / "Cargo.toml"
    build = ["cargo", "build", "--quiet", "--release", "--locked", "--manifest-path", manifest]
    subprocess.run([*build, "--target-dir", target], check=True)
    program = target / "release" / "polypath-models"
    results = [is_found(program, number, mutant) for number, mutant in enumerate(MUTANTS)]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
