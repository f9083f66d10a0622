//! All settings together.

use serde::{Deserialize, Serialize};

use super::bounds::Bounds;
use super::buffer::{BufferSettings, RawBuffer};
use super::error::{ConfigError, Problem};
use super::flush::{FlushSettings, RawFlush};
use super::ingest::{DataSettings, IngestSettings, RawData, RawIngest};
use super::journal::{JournalSettings, RawJournal};
use super::line_protocol::{LineProtocolSettings, RawLineProtocol};
use super::operation::{LogSettings, RawLog, RawShutdown, ShutdownSettings};
use super::query::{QuerySettings, RawQuery};
use super::server::{RawServer, ServerSettings};
use super::store::{RawStore, StoreSettings};

/// Checked settings, one struct a subsystem. [`Settings::default`] is what an
/// empty configuration gives.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Settings {
    /// The HTTP listener and the bounds of a request.
    pub server: ServerSettings,
    /// Which readings are taken.
    pub ingest: IngestSettings,
    /// How lines of line protocol become readings.
    pub line_protocol: LineProtocolSettings,
    /// Where the process keeps its files.
    pub data: DataSettings,
    /// The write-ahead log.
    pub journal: JournalSettings,
    /// What the store does not hold yet, in memory.
    pub buffer: BufferSettings,
    /// Which buckets go to the store, and when.
    pub flush: FlushSettings,
    /// Where buckets are kept.
    pub store: StoreSettings,
    /// How much one question may ask for.
    pub query: QuerySettings,
    /// How the process stops.
    pub shutdown: ShutdownSettings,
    /// What the process says.
    pub log: LogSettings,
}

impl Settings {
    /// Refuses to listen where other machines reach it, unless that is asked
    /// for: clients are not authenticated. To be called before serving.
    ///
    /// # Errors
    /// [`ConfigError::OpenDoor`].
    pub fn check_door(&self) -> Result<(), ConfigError> {
        let listen = self.server.listen;
        // An IPv4 address may come in IPv6 clothes (::ffff:127.0.0.1).
        if listen.ip().to_canonical().is_loopback() || self.server.insecure {
            Ok(())
        } else {
            Err(ConfigError::OpenDoor { listen })
        }
    }

    /// The settings as a TOML file that gives them again, secrets masked.
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("settings hold texts, numbers and lists in sections only")
    }
}

/// Settings as read: right in keys and types, not yet in values.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSettings {
    server: RawServer,
    ingest: RawIngest,
    line_protocol: RawLineProtocol,
    data: RawData,
    journal: RawJournal,
    buffer: RawBuffer,
    flush: RawFlush,
    store: RawStore,
    query: RawQuery,
    shutdown: RawShutdown,
    log: RawLog,
}

impl RawSettings {
    /// Proves every value against its bounds.
    pub(super) fn check(
        self,
        source_of: &dyn Fn(&str) -> String,
    ) -> Result<Settings, Vec<Problem>> {
        let mut bounds = Bounds::new(source_of);
        let settings = Settings {
            server: self.server.check(&mut bounds),
            ingest: self.ingest.check(&mut bounds),
            line_protocol: self.line_protocol.check(&mut bounds),
            data: self.data.check(&mut bounds),
            journal: self.journal.check(&mut bounds),
            buffer: self.buffer.check(&mut bounds),
            flush: self.flush.check(&mut bounds),
            store: self.store.check(&mut bounds),
            query: self.query.check(&mut bounds),
            shutdown: self.shutdown.check(&mut bounds),
            log: self.log.check(&mut bounds),
        };
        let problems = bounds.into_problems();
        if problems.is_empty() {
            Ok(settings)
        } else {
            Err(problems)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listening(address: &str, insecure: bool) -> Settings {
        let mut settings = Settings::default();
        settings.server.listen = address.parse().unwrap();
        settings.server.insecure = insecure;
        settings
    }

    #[test]
    fn loopback_is_no_open_door() {
        for address in [
            "127.0.0.1:1",
            "127.9.9.9:1",
            "[::1]:1",
            "[::ffff:127.0.0.1]:1",
        ] {
            assert!(listening(address, false).check_door().is_ok(), "{address}");
        }
    }

    #[test]
    fn an_open_door_is_refused_unless_asked_for() {
        for address in ["0.0.0.0:8080", "[::]:8080", "192.168.0.1:8080"] {
            let refusal = listening(address, false)
                .check_door()
                .unwrap_err()
                .to_string();
            assert!(refusal.contains("--insecure"), "{refusal}");
            assert!(refusal.contains(address), "{refusal}");
            assert!(listening(address, true).check_door().is_ok(), "{address}");
        }
    }
}
