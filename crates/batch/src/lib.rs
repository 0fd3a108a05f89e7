//! Many simulations at once.
//!
//! [`polypath_sim::run_network`] is one run without threads. Here many of them are done on several threads:
//! [`in_order`] gives their results in the order of their numbers, and [`replica_seeds`] gives each replica a seed
//! of its own, so that the number of threads changes nothing of what comes out. A [`Sweep`] runs every combination of
//! parameters, and keeps what is finished; a [`Shelf`] is where.

mod digest;
mod in_order;
mod progress;
mod replicas;
mod shelf;
mod sweep;

pub use digest::digest;
pub use in_order::{in_groups, in_order};
pub use progress::PARTS;
pub use replicas::{replica_seeds, run_counted};
pub use shelf::{FileError, Found, Shelf};
pub use sweep::{POINTS, Plan, Point, Sweep, SweepError};
