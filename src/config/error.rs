//! What can be wrong with a configuration.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why there are no settings. Every variant ends the process before it begins.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file is not there or not readable.
    #[error("configuration file {} cannot be read: {reason}", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        reason: io::Error,
    },
    /// The file is not TOML.
    #[error("configuration file {} is not TOML: line {line}: {reason}", path.display())]
    Syntax {
        /// Which file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What the parser expected. It never holds text of the file, which may
        /// be a password.
        reason: String,
    },
    /// Keys or values that do not do.
    #[error("the configuration does not do:{}", lines(.0))]
    Problems(Vec<Problem>),
    /// Anybody on the network could write and read.
    #[error(
        "server.listen is {listen}, which other machines can reach, and hourglass does not \
         authenticate its clients: listen on a loopback address such as 127.0.0.1:{port}, put \
         an authenticating proxy in front, or say --insecure (server.insecure = true) where \
         the network is trusted",
        port = listen.port()
    )]
    OpenDoor {
        /// The address asked for.
        listen: SocketAddr,
    },
    /// Anybody on the network could send datagrams.
    #[error(
        "udp.listen is {listen}, which other machines can reach, and datagrams carry no proof of \
         who sent them: listen on a loopback address such as 127.0.0.1:{port}, name the networks \
         of the senders in udp.allow, or say --insecure (server.insecure = true) where the \
         network is trusted",
        port = listen.port()
    )]
    OpenUdpDoor {
        /// The address asked for.
        listen: SocketAddr,
    },
}

/// One key that does not do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// There is no such key.
    UnknownKey {
        /// The key with its section: `server.listne`.
        key: String,
        /// Where it stands.
        source: String,
        /// The known key most like it, if any is like it.
        nearest: Option<String>,
    },
    /// The value has the wrong type or form, or lies outside its bounds.
    BadValue {
        /// The key with its section.
        key: String,
        /// Where the value stands.
        source: String,
        /// The value, secrets masked.
        value: String,
        /// What would do.
        expected: String,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownKey {
                key,
                source,
                nearest,
            } => {
                write!(f, "{key} (from {source}) is no known key")?;
                match nearest {
                    Some(nearest) => write!(f, ", did you mean {nearest}?"),
                    None => f.write_str("; config/hourglass.toml lists the keys"),
                }
            }
            Self::BadValue {
                key,
                source,
                value,
                expected,
            } => write!(f, "{key} is {value} (from {source}), expected {expected}"),
        }
    }
}

fn lines(problems: &[Problem]) -> String {
    problems
        .iter()
        .map(|problem| format!("\n  {problem}"))
        .collect()
}
