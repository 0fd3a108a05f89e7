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
    /// The server gives up its limit on packets that are kept.
    TakesTooMuch,
    /// The server takes each packet for accepted twice by its socket.
    WritesTwice,
    /// The server takes half of the source for all of it.
    EndsEarly,
    /// One packet in a thousand has a number far ahead.
    SkipsNumbers,
    /// The receiver gives each connection after the first eight a window of one packet.
    NeverGrows,
    /// The receiver states that it has one packet more than it has.
    OverstatesProgress,
}
