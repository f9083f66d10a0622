//! The MongoDB store against a real server: what the conformance suite, which
//! is the same for all stores, cannot see.

mod builders;
mod commands;
mod covered;
mod documents;
mod first_calls;
mod outage;
mod races;
