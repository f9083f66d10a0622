//! The MongoDB store against a real server: what the conformance suite, which
//! is the same for all stores, cannot see.

mod builders;
mod commands;
mod covered;
mod documents;
mod explained;
mod first_calls;
mod outage;
mod races;
mod registry_commands;
mod registry_documents;
mod registry_lists;
