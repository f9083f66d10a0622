//! One binary of all tests that drive the product from outside.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking; clippy allows this only inside #[test] functions"
)]

mod api;
mod cases;
mod cli;
mod deletion;
mod docs;
mod docs_commands;
mod faults;
mod idempotency;
mod influx;
mod invariants;
mod journal;
mod limits;
mod line_protocol;
mod loadgen;
mod machine_temperature;
mod migrate;
mod mongodb;
mod operation;
mod pipeline;
mod quarantine;
mod query;
mod reads;
mod registry;
mod retention;
mod store_conformance;
mod support;
mod tidy;
mod udp;
mod verify;
