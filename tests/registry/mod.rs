//! The registry over real sockets, on both stores: what people say of sensors and
//! sites, and what follows from it.

mod away;
mod builders;
mod bulk;
mod conditions;
mod fleets;
mod heard;
mod races;
mod renames;
mod sensors;
