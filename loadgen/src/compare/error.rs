//! Why a comparison ends early.

use std::path::PathBuf;

use crate::cpu::CpuError;
use crate::http::HttpError;
use crate::workload::WorkloadError;

/// A comparison that could not be made or finished.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// The workload cannot be run.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// A file or folder of the comparison's own.
    #[error("{path}: {source}", path = .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A server did not start, ended by itself or did not stop.
    #[error("{server} {why}; its output is in {log}", log = .log.display())]
    Server {
        /// Its name.
        server: &'static str,
        /// What it did.
        why: String,
        /// Where it writes what it says.
        log: PathBuf,
    },
    /// A server does not answer.
    #[error("{server}: {source}")]
    Http {
        /// Its name.
        server: &'static str,
        /// What happened.
        source: HttpError,
    },
    /// A server answers with something else than was asked.
    #[error("{server} answered {what}")]
    Answer {
        /// Its name.
        server: &'static str,
        /// What it said.
        what: String,
    },
    /// The driver of MongoDB.
    #[error("mongod: {0}")]
    Mongodb(Box<mongodb::error::Error>),
    /// A document cannot be made or read.
    #[error("a document cannot be read or written: {0}")]
    Bson(#[from] mongodb::bson::error::Error),
    /// A process cannot be read.
    #[error(transparent)]
    Cpu(#[from] CpuError),
    /// The report cannot be written.
    #[error("the report cannot be written: {0}")]
    Report(#[from] serde_json::Error),
    /// Nothing is left to compare.
    #[error("no system to compare: {0}")]
    Nothing(String),
}

impl From<mongodb::error::Error> for CompareError {
    fn from(error: mongodb::error::Error) -> Self {
        Self::Mongodb(Box::new(error))
    }
}

impl CompareError {
    /// For `map_err` on what is done with a file.
    pub(super) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }

    /// A server is asked for something while it is stopped.
    pub(super) fn not_running(server: &'static str) -> Self {
        Self::Answer {
            server,
            what: "nothing: it is not running".to_owned(),
        }
    }

    /// For `map_err` on a request to a server.
    pub(super) fn http(server: &'static str) -> impl FnOnce(HttpError) -> Self {
        move |source| Self::Http { server, source }
    }
}
