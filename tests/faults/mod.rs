//! Real faults on real processes under load: the service and `mongod` killed,
//! primaries lost, connections cut with answers on their way, disks full.
//!
//! - [`fleet`]: what is sent, and what must be there in the end.
//! - [`load`]: devices that send it, the same again until it is acknowledged.
//! - [`ending`]: how every test ends.
//! - [`service`]: a process that comes back at its address.

mod connections;
mod ending;
mod fleet;
mod kills;
mod load;
mod mongod_kills;
mod primaries;
mod service;
mod stops;
mod two_processes;
