//! `hourglass`: a time-series sensor ingestion service.
//!
//! Modules in the order of the data flow; see `ARCHITECTURE.md` for the map,
//! the import table and the invariants.

// They panic where the stream cannot be written.
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod model;

pub mod bucket;

pub mod clock;
pub mod config;
pub mod metrics;
pub mod retention;

pub mod receive;

pub mod decode;

pub mod quarantine;

pub mod journal;

pub mod idempotency;

pub mod apply;
pub mod buffer;

pub mod flush;

pub mod sweep;

pub mod store;

pub mod deletion;
pub mod query;

pub mod ingest;

pub mod registry;

pub mod api;

pub mod progress;

pub mod migrate;
pub mod service;
pub mod verify;

pub mod import;

pub mod cli;
