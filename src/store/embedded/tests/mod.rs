//! The store over its directory.

mod buckets;
mod copies;
mod drops;
mod old_stores;
mod registry;
pub(super) mod samples;
