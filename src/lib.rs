//! `hourglass`: a time-series sensor ingestion service.
//!
//! Modules in the order of the data flow; see `ARCHITECTURE.md` for the map,
//! the import table and the invariants.

pub mod bucket;
pub mod decode;
pub mod model;
pub mod receive;
pub mod store;
