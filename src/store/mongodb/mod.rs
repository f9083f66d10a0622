//! The store in MongoDB: a replica set or a sharded cluster, 6.0 or newer.
//!
//! Contract:
//! - One document per part of a bucket in collection `buckets`, one per sensor in
//!   `sensors` (`lastSeen` in milliseconds: finer digits are cut, as a BSON date
//!   has none), one per site in `sites`.
//! - Every write is fenced by `rev` and `by` and acknowledged by a majority,
//!   journaled. All writes of a call are one `update` command (two where parts
//!   are closed first; further ones beyond [`COMMAND_BYTES_MAX`]); only a lost
//!   fence costs one find more. The driver does not repeat these commands: what
//!   becomes of an unknown outcome is the caller's to decide, by loading.
//! - Every filter on buckets names `sensorId`, the sharding key.
//! - Reads go to the primary, at a snapshot that a majority holds, so that what
//!   was read is never rolled back. Streams read majority-held documents.
//! - Nothing here blocks a start: the first call connects and creates what is
//!   missing, and so does every call until one succeeded. A client that answers
//!   nothing any more is replaced.

mod attributes;
#[doc(hidden)]
pub mod bench_api;
mod client_slot;
mod connection;
mod copies;
mod decode;
mod document;
mod drops;
mod edit;
mod examine;
mod failure;
mod fenced;
mod indexes;
mod inspect;
mod newest;
mod number_elements;
mod plain;
mod read;
mod readings_array;
mod repair;
mod reply;
mod scan;
mod sensor_document;
mod sensors_find;
mod sensors_put;
mod sensors_told;
mod settings;
mod site_document;
mod sites;
mod statement;
mod store;
mod strange_fields;
mod write;

pub use settings::{Missing, MongoSettings};
pub use statement::{COMMAND_BYTES_MAX, COMMAND_STATEMENTS_MAX};
pub use store::MongoStore;

/// What this implementation calls itself.
const NAME: &str = "mongodb";
