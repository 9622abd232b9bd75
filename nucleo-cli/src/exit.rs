//! How the command ends.
//!
//! | code | when |
//! | --- | --- |
//! | 0 | all is well |
//! | 1 | some items failed, or were not submitted |
//! | 2 | nothing could start: the arguments, a file or the catalog are wrong |
//! | 3 | a cap refused work |
//! | 74 | output was lost: a full disk, a closed pipe |
//! | 130 | cancelled by the second Ctrl-C |
//!
//! Not here: which of them a command's outcome calls for (`commands`).

use std::process::ExitCode;

/// All is well.
pub(crate) const OK: u8 = 0;
/// Some items failed, or were not submitted.
pub(crate) const FAILED: u8 = 1;
/// Nothing could start.
pub(crate) const USAGE: u8 = 2;
/// A cap refused work.
pub(crate) const REFUSED: u8 = 3;
/// Cancelled by the second Ctrl-C (128 and the signal's number, as shells have it).
pub(crate) const CANCELLED: u8 = 130;
/// Output was lost (`EX_IOERR` of sysexits.h).
pub(crate) const OUTPUT_LOST: u8 = 74;

/// Output could not be written.
#[derive(Debug, thiserror::Error)]
#[error(
    "can't write {place}: what was written before is whole; free some space or choose another place"
)]
pub(crate) struct OutputLost {
    pub(crate) place: String,
    #[source]
    pub(crate) cause: std::io::Error,
}

impl OutputLost {
    /// Whether the reader closed the pipe: he has seen what he wanted, and there is nobody to tell.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        self.cause.kind() == std::io::ErrorKind::BrokenPipe
    }
}

/// Whether an error only says that a pipe was closed.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref().is_some_and(OutputLost::is_closed_pipe)
}

/// Prints an error with its causes and says how the command ends.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    if !is_closed_pipe(error) {
        eprintln!("nucleo: {error:#}");
    }
    ExitCode::from(if error.is::<OutputLost>() { OUTPUT_LOST } else { USAGE })
}
