//! Claims of papers: a ledger that states them, figures that measure them, and verdicts.
//!
//! A [`Figure`] is a function from a [`Study`] to [`Findings`]. It requests [`Job`]s from the
//! study: simulations that are pure functions of their parameters. The engine ([`make_figures`])
//! runs the jobs without a stored result on several threads and calls the function again until
//! nothing is missing. The findings are plots, tables and [`Measurement`]s under the names that the
//! ledger's rules use. [`judge`] compares a claim with its measurements, and [`write_book`] writes
//! everything on one page.

mod answer;
pub mod book;
mod engine;
mod figure;
mod judge;
mod lab;
pub mod ledger;
mod measurement;
mod output;
mod paper;
mod study;

pub use answer::{Answer, Outcome, answer, json, render, summary};
pub use engine::{Attempt, JOBS, MakeError, MakeOptions, Progress, make_figures, select};
pub use figure::{ClaimRemark, FailedFigure, Figure, FigureTable, Findings, MadeFigure};
pub use judge::{JudgeError, Judgement, MeasuredQuantity, PartJudgement, Test, Verdict, judge};
pub use lab::{Lab, LabJob, LabOutcome, LabRun, SendersLabOutcome};
pub use measurement::{Measurement, Position, Sample, from_csv, to_csv};
pub use output::{BookOptions, OutputError, put, write, write_book};
pub use paper::Paper;
pub use study::{Job, JobError, Pending, SEED, Scale, Study};
