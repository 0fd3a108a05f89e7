//! The program under test.

use std::process::{Command, Output};

/// The `polypath` program.
pub(crate) fn polypath() -> Command {
    Command::new(env!("CARGO_BIN_EXE_polypath"))
}

/// The standard output of a program that must have succeeded.
pub(crate) fn printed(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", output.status);
    String::from_utf8(output.stdout.clone()).expect("the program prints UTF-8")
}
