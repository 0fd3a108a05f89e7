//! The papers that polypath implements: one module a paper, one function a figure or table, and the ledger of what
//! they claim.
//!
//! A [`Figure`] is a function from a [`Study`] to [`Findings`]. It asks the study for [`Job`]s, pieces of simulation
//! that are pure functions of their parameters; those that are not known yet are run, on several threads, and the
//! function is called again until nothing is missing. What it finds are pictures, tables, and [`Measurement`]s, under
//! the names that the rules of the ledger use.

mod answer;
pub mod book;
pub mod delay_centric;
pub mod diversity;
mod engine;
mod estimates;
mod figure;
mod judge;
pub mod ledger;
mod measurement;
pub mod multitcp;
mod output;
mod paper;
mod pictures;
pub mod ppd;
pub mod psp;
mod study;

pub use answer::{Answer, answer, json, render, summary};
pub use engine::{Attempt, JOBS, MakeError, Progress, make, select};
pub use figure::{Figure, Findings, Reason, Sheet};
pub use judge::{JudgeError, Judgement, Ours, PartJudgement, Test, Verdict, judge};
pub use measurement::{Measurement, Position, Sample, from_csv, to_csv};
pub use output::{OutputError, put, write, write_book};
pub use paper::{PAPERS, Paper};
pub use study::{Job, JobError, Pending, SEED, Scale, Study};
