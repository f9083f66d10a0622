//! A world to try the data path in: the real journal, group commit, tail,
//! applier, buffer, flush rounds, deletions and queries on one thread, over a
//! disk, a clock and a store that are simulated, beside a naive model of what
//! must come of it.
//!
//! - [`action`]: what can happen; [`schedule`]: what happens in a run, from a
//!   seed.
//! - [`World`]: lets it happen. Rounds and queries are polled by hand, so that
//!   anything can happen between any two of their steps at the store.
//! - [`disk`]: forgets what was not synced, fails where it is told;
//!   [`store`]: the rules of a database of parts, and what goes wrong with one.
//! - [`naive`]: plain maps; [`invariants`]: what must hold after every action.
#![allow(
    clippy::unwrap_used,
    reason = "a simulation fails by panicking; its input is its own"
)]
#![expect(
    missing_docs,
    reason = "fields and variants that say it by their names"
)]

pub mod action;
pub mod answer;
pub mod disk;
pub mod gate;
pub mod invariants;
pub mod naive;
pub mod process;
pub mod schedule;
pub mod store;
mod world;

pub use world::World;
