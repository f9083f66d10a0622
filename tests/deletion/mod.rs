//! Deletion of readings: over real sockets on both stores, and as a model.

mod model;
mod readings;
mod restarts;
mod unread;
