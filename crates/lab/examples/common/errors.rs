//! Errors of the measurements as text.

/// An error with its causes in one line.
pub(crate) fn error_chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |message, cause| {
        format!("{message}: {cause}")
    })
}
