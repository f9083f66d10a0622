//! A model of the data path: generated actions drive the real journal, tail,
//! applier, buffer, flush rounds and queries on one thread, over a disk and a
//! store that are simulated, beside a naive model of what must come of it.
//!
//! Rounds and queries are polled by hand, so that anything can happen between
//! any two of their steps at the store: that is what "in mid-flight" means.

pub(crate) mod action;
pub(crate) mod answer;
mod deletions;
pub(crate) mod naive;
pub(crate) mod process;
mod rest;
mod rounds;
pub(crate) mod run;
