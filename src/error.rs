//! The one error type: what kind it is, what happened, and what to do about it.

use std::ops::Deref;

/// Result with [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, in a form that a program can match on.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No GPU adapter is available.
    NoAdapter,
    /// The GPU device was lost, with everything on it.
    DeviceLost,
    /// The GPU reported an error outside any call.
    Gpu,
    /// The work needs more than the engine, or this crate, offers.
    LimitExceeded {
        /// How much the work needs.
        need: u64,
        /// How much is available.
        have: u64,
    },
    /// The device did not finish before the deadline.
    Timeout,
    /// An argument, a file or a configuration is invalid.
    BadInput,
    /// The user cancelled the work.
    Cancelled,
    /// A download failed; trying again may help.
    Network,
    /// A bug in this crate, or in code that records programs of its own.
    Internal,
}

impl ErrorKind {
    /// The name of this kind in JavaScript.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::NoAdapter => "NoAdapter",
            Self::DeviceLost => "DeviceLost",
            Self::Gpu => "Gpu",
            Self::LimitExceeded { .. } => "LimitExceeded",
            Self::Timeout => "Timeout",
            Self::BadInput => "BadInput",
            Self::Cancelled => "Cancelled",
            Self::Network => "Network",
            Self::Internal => "Internal",
        }
    }
}

/// An error that says what happened and what to do. It is a single pointer, which keeps the code of every
/// `?` small.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{}{}", .0.message, if .0.hint.is_empty() { "" } else { " — " }, .0.hint)]
pub struct Error(Box<Details>);

/// The contents of an [`Error`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Details {
    /// What kind of failure this is.
    pub kind: ErrorKind,
    /// What happened, as one sentence without its full stop.
    pub message: String,
    /// What the reader can do about it. May be empty.
    pub hint: String,
}

impl Deref for Error {
    type Target = Details;

    fn deref(&self) -> &Details {
        &self.0
    }
}

impl Error {
    /// Creates an error of `kind`.
    #[cold]
    pub fn new(kind: ErrorKind, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self(Box::new(Details { kind, message: message.into(), hint: hint.into() }))
    }

    /// Creates an error about an invalid argument, file or configuration.
    #[cold]
    pub fn bad_input(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(ErrorKind::BadInput, message, hint)
    }

    /// Creates an error about a state that no input should lead to.
    #[cold]
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message, "This is a bug: please report it")
    }

    /// Creates an error that says that `what` needs `need`, and only `have` is available.
    #[cold]
    pub fn limit(what: &str, need: u64, have: u64, hint: impl Into<String>) -> Self {
        let message = format!("{what}: needs {need}, the limit is {have}");
        Self::new(ErrorKind::LimitExceeded { need, have }, message, hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_joins_message_and_hint() {
        let with = Error::bad_input("The file is empty", "Choose another one");
        assert_eq!(with.to_string(), "The file is empty — Choose another one");
        assert_eq!(Error::bad_input("The file is empty", "").to_string(), "The file is empty");
    }
}
