//! All settings together.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::bounds::Bounds;
use super::buffer::{BufferSettings, RawBuffer};
use super::error::{ConfigError, Problem};
use super::flush::{FlushSettings, RawFlush};
use super::ingest::{DataSettings, IngestSettings, RawData, RawIngest};
use super::journal::{JournalSettings, RawJournal};
use super::line_protocol::{LineProtocolSettings, RawLineProtocol};
use super::operation::{LogSettings, RawLog, RawShutdown, ShutdownSettings};
use super::quarantine::{QuarantineSettings, RawQuarantine};
use super::query::{QuerySettings, RawQuery};
use super::registry::{RawRegistry, RegistrySettings};
use super::retention::{RawRetention, RetentionSettings};
use super::server::{RawServer, ServerSettings};
use super::store::{RawStore, StoreSettings};
use super::udp::{RawUdp, UdpSettings};

/// Checked settings, one struct a subsystem. [`Settings::default`] is what an
/// empty configuration gives.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Settings {
    /// The HTTP listener and the bounds of a request.
    pub server: ServerSettings,
    /// The UDP receiver.
    pub udp: UdpSettings,
    /// Which readings are taken.
    pub ingest: IngestSettings,
    /// Refused items, kept on disk.
    pub quarantine: QuarantineSettings,
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
    /// What is known of sensors and sites.
    pub registry: RegistrySettings,
    /// How long readings are kept.
    pub retention: RetentionSettings,
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
    /// [`ConfigError::OpenDoor`], [`ConfigError::OpenUdpDoor`].
    pub fn check_door(&self) -> Result<(), ConfigError> {
        // An IPv4 address may come in IPv6 clothes (::ffff:127.0.0.1).
        let is_open = |address: SocketAddr| {
            !self.server.insecure && !address.ip().to_canonical().is_loopback()
        };
        let listen = self.server.listen;
        if is_open(listen) {
            return Err(ConfigError::OpenDoor { listen });
        }
        match self.udp.listen.address() {
            Some(listen) if is_open(listen) && self.udp.allow.is_empty() => {
                Err(ConfigError::OpenUdpDoor { listen })
            }
            _ => Ok(()),
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
    udp: RawUdp,
    ingest: RawIngest,
    quarantine: RawQuarantine,
    line_protocol: RawLineProtocol,
    data: RawData,
    journal: RawJournal,
    buffer: RawBuffer,
    flush: RawFlush,
    store: RawStore,
    query: RawQuery,
    registry: RawRegistry,
    retention: RawRetention,
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
            udp: self.udp.check(&mut bounds),
            ingest: self.ingest.check(&mut bounds),
            quarantine: self.quarantine.check(&mut bounds),
            line_protocol: self.line_protocol.check(&mut bounds),
            data: self.data.check(&mut bounds),
            journal: self.journal.check(&mut bounds),
            buffer: self.buffer.check(&mut bounds),
            flush: self.flush.check(&mut bounds),
            store: self.store.check(&mut bounds),
            query: self.query.check(&mut bounds),
            registry: self.registry.check(&mut bounds),
            retention: self.retention.check(&mut bounds),
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
    use super::super::udp::UdpListen;
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

    #[test]
    fn datagrams_of_everybody_are_refused_unless_asked_for_or_sources_are_named() {
        for (address, is_open) in [("127.0.0.1:1", false), ("[::1]:1", false)]
            .into_iter()
            .chain([("0.0.0.0:8094", true), ("[::]:8094", true)])
        {
            let mut settings = listening("127.0.0.1:1", false);
            settings.udp.listen = UdpListen::On(address.parse().unwrap());
            match settings.check_door() {
                Ok(()) => assert!(!is_open, "{address}"),
                Err(refusal) => {
                    let refusal = refusal.to_string();
                    assert!(is_open && refusal.contains(address), "{refusal}");
                    assert!(refusal.contains("--insecure"), "{refusal}");
                    assert!(refusal.contains("udp.allow"), "{refusal}");
                }
            }
            let mut insecure = settings.clone();
            insecure.server.insecure = true;
            assert!(insecure.check_door().is_ok(), "{address}");
            settings.udp.allow = vec!["10.0.0.0/8".parse().unwrap()];
            assert!(settings.check_door().is_ok(), "{address}");
        }
    }
}
