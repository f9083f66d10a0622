//! One binary of all tests that drive the product from outside.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking; clippy allows this only inside #[test] functions"
)]

mod api;
mod cli;
mod limits;
mod mongodb;
mod store_conformance;
mod support;
