//! The registry over real sockets, on both stores: what people say of sensors and
//! sites, and what follows from it.

mod builders;
mod bulk;
mod conditions;
mod renames;
mod sensors;
