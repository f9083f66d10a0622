//! Retention: what is too old is not taken, not written, and goes, and nothing
//! else does.

mod buffer;
mod builders;
mod door;
mod kills;
mod pass;
mod preview;
mod service;
mod start;
mod turns;
mod unread;
