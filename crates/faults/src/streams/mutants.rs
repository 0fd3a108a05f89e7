//! Ends of streams with deliberate defects, which show that the invariants can be violated.

/// A deliberate defect, in the harness around both ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StreamMutant {
    /// No defect.
    #[default]
    None,
    /// One packet in a hundred is delivered twice.
    DeliversTwice,
    /// One packet in a hundred is lost on its connection.
    LosesPackets,
    /// The server ignores the names of failed connections.
    IgnoresNames,
    /// The server has more credit than it was given.
    OverstatesCredit,
    /// The receiver opens no connection after the first eight.
    NeverReplaces,
    /// The receiver does nothing at its deadlines.
    IgnoresDeadline,
    /// The server does not notice that connections end.
    IgnoresEnds,
    /// The receiver states that it has one packet more than it has.
    OverstatesProgress,
}
