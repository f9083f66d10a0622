//! Builds the parts, wires them, starts and stops them. The only place that
//! names concrete stores, disks and clocks.
//!
//! Start: lock of the data directory, listener, store, journal (checked whole),
//! applier, flusher, routes. Stop, under one deadline: readings are refused,
//! those under way answered, the journal applied, the buffer flushed, the
//! journal tidied, the listener closed last: it owes `/readyz` and queries.

mod data_dir;
mod known_sensors;
mod query_patience;
mod recorder;
mod run;
mod signal;
mod silence;
mod store_watch;
mod stores;
mod udp;

pub use data_dir::{DataDir, DataDirError};
pub use run::{ServiceError, serve};
pub use signal::stop_signal;
pub use stores::{
    NoStore, OpenedPlace, PlaceOpenError, check_store, open_place, open_store, open_to_verify,
};
