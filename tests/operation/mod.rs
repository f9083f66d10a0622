//! The running service as its operator sees it: starting, stopping, outages,
//! full and damaged disks, `verify`. The real binary on real stores.

mod away;
mod bad_bucket;
pub(crate) mod builders;
mod damage;
mod door;
mod full;
mod lock;
mod lost_log;
mod no_room;
mod stop;
pub(crate) mod verify;
mod verify_records;
