//! Configuration: read, then proven.
//!
//! Four layers, each overriding the one before it: the defaults, a TOML file,
//! environment variables `HOURGLASS__SECTION__KEY`, flags. [`Settings::load`]
//! reads them, refuses unknown keys, wrong types and values out of range (all of
//! them in one error that names key, source, value and bound), and yields
//! [`Settings`]: one small typed struct a subsystem. Past it nobody checks
//! again, and nothing else reads files or variables for its settings.
//!
//! Secrets (a password in `store.url`) are kept in [`MongodbUri`], which every
//! printing masks; [`mask`] does the same for texts.
//!
//! `config/hourglass.toml` documents every key; a test holds it to the defaults.

mod bounds;
mod buffer;
#[cfg(test)]
mod documented;
mod error;
mod flush;
mod ingest;
mod journal;
mod known;
mod line_protocol;
mod mask;
mod nearest;
mod operation;
mod place;
mod quarantine;
mod query;
mod registry;
mod retention;
mod server;
mod settings;
mod sources;
mod store;
mod udp;
mod value;
mod wrong_type;

pub use buffer::BufferSettings;
pub use error::{ConfigError, Problem};
pub use flush::FlushSettings;
pub use ingest::{DataSettings, IngestSettings};
pub use journal::JournalSettings;
pub use line_protocol::LineProtocolSettings;
pub use mask::mask;
pub use nearest::nearest;
pub use operation::{LogFormat, LogSettings, ShutdownSettings};
pub use place::{PlaceError, StorePlace};
pub use quarantine::QuarantineSettings;
pub use query::QuerySettings;
pub use registry::RegistrySettings;
pub use retention::RetentionSettings;
pub use server::ServerSettings;
pub use settings::Settings;
pub use sources::{Flag, Sources};
pub use store::{MongodbUri, StoreSettings, StoreUrl};
pub use udp::{UdpListen, UdpSettings};
pub use value::{byte_count, span};
