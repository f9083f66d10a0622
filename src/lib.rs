//! `hourglass`: a time-series sensor ingestion service.
//!
//! Modules in the order of the data flow; see `ARCHITECTURE.md` for the map,
//! the import table and the invariants.

pub mod model;

pub mod bucket;

pub mod clock;
pub mod metrics;

pub mod decode;
pub mod journal;

pub mod buffer;

pub mod apply;
pub mod flush;
pub mod store;

pub mod query;

pub mod ingest;
