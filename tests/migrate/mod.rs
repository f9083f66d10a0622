//! `hourglass migrate`, the real binary on real stores.

mod dropped;
mod kills;
mod mistyped;
mod there_and_back;
