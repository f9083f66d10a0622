//! `hourglass migrate`, the real binary on real stores.

mod damaged;
mod dropped;
mod generated;
mod kills;
mod mistyped;
pub(crate) mod there_and_back;
