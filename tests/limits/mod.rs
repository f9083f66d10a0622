//! Limits of the running service: what is refused at them, and that it goes on.

mod connections;
mod memory;
mod sensors;
