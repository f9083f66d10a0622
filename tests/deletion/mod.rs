//! Deletion of readings over real sockets, on both stores.

mod readings;
mod restarts;
