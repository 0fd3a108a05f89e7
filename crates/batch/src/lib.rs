//! Many simulations on several threads.
//!
//! [`polypath_sim::run_network`] performs one run on one thread. [`parallel_map`] performs many
//! runs on several threads and returns their results in the order of their indices;
//! [`replica_seeds`] gives each replica its own seed, and [`run_media_runs`] runs a media stream by
//! every policy with several seeds, and
//! [`run_settings`] senders by every setting. The results therefore do not depend on the
//! number of threads. A [`Sweep`] runs every combination of parameters and stores each finished
//! point in a [`ResultCache`].

mod digest;
mod media;
mod parallel_map;
mod progress;
mod replicas;
mod result_cache;
mod stability;
mod sweep;

pub use digest::digest;
pub use media::{MediaRuns, run_media_runs};
pub use parallel_map::{Groups, parallel_groups, parallel_map};
pub use progress::PARTS;
pub use replicas::{replica_seeds, run_counted};
pub use result_cache::{FileError, Lookup, ResultCache};
pub use stability::run_settings;
pub use sweep::{POINTS, Plan, Point, Sweep, SweepError};
