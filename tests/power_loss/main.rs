//! Power loss of a whole data directory: the journal, the log of idempotency
//! keys and the embedded store, on real files.
//!
//! An executable of its own: it takes the place of the system's `fsync`,
//! `fdatasync` and `write`, through which every file of the process goes, so
//! that it knows at each sync what a power cut would leave, and can make one
//! fail. Nothing is really synced here.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking; clippy allows this only inside #[test] functions"
)]

mod checked;
mod contents;
mod cuts;
mod failing;
mod machine;
mod parts;
#[path = "../support/seed.rs"]
mod seed;
mod syscalls;
mod workload;
