//! One binary of all tests that drive the product from outside.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking; clippy allows this only inside #[test] functions"
)]

mod cli;
mod invariants;
mod journal;
mod model;
mod mongodb;
mod operation;
mod pipeline;
mod store_conformance;
mod support;
