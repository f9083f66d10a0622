//! `[server]`: the HTTP listener and the bounds of a request.

use std::net::SocketAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::bounds::{Bounds, GIB, KIB, MIB, TIB, ms, secs};
use super::value::{ByteCount, Span, TextList, show_bytes, write_bytes, write_span};

/// The HTTP listener and the bounds of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServerSettings {
    /// Where it listens; port 0 takes any free one.
    pub listen: SocketAddr,
    /// Whether it may listen where other machines reach it though clients are
    /// not authenticated.
    pub insecure: bool,
    /// Origins of pages that may call the API from a browser (`https://host`),
    /// or `*` alone for all.
    pub cors_origins: Vec<String>,
    /// Longest time for the whole body of a request to arrive, from 1 s to 1 h.
    #[serde(serialize_with = "write_span")]
    pub request_timeout: Duration,
    /// Largest request body in bytes after decompression, 1 KiB to 1 GiB.
    #[serde(serialize_with = "write_bytes")]
    pub body_bytes_max: usize,
    /// Largest ratio of decompressed to compressed bytes, 1 to 1,000,000.
    pub body_ratio_max: u32,
    /// Longest pause between two pieces of a body, from 100 ms to 1 h.
    #[serde(serialize_with = "write_span")]
    pub body_idle_timeout: Duration,
    /// Bytes of all request bodies together, 1 MiB to 1 TiB and at least
    /// `body_bytes_max`.
    #[serde(serialize_with = "write_bytes")]
    pub bodies_bytes_max: usize,
    /// Most connections at once, 1 to 1,000,000.
    pub connections_max: usize,
    /// Longest wait for the head of a request, also of the next one on a
    /// connection, from 1 s to 1 h.
    #[serde(serialize_with = "write_span")]
    pub head_timeout: Duration,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            insecure: false,
            cors_origins: Vec::new(),
            request_timeout: secs(30),
            body_bytes_max: 32 << 20,
            body_ratio_max: 600,
            body_idle_timeout: secs(10),
            bodies_bytes_max: 256 << 20,
            connections_max: 10_000,
            head_timeout: secs(75),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawServer {
    listen: String,
    insecure: bool,
    cors_origins: TextList,
    request_timeout: Span,
    body_bytes_max: ByteCount,
    body_ratio_max: i64,
    body_idle_timeout: Span,
    bodies_bytes_max: ByteCount,
    connections_max: i64,
    head_timeout: Span,
}

impl RawServer {
    pub(super) fn check(self, bounds: &mut Bounds<'_>) -> ServerSettings {
        let default = ServerSettings::default();
        let listen = self.listen.parse().unwrap_or_else(|_| {
            bounds.refuse_text(
                "server.listen",
                &self.listen,
                "an IP address and a port such as 127.0.0.1:8080 or [::1]:8080",
            );
            default.listen
        });
        let origins = self.cors_origins.0;
        if origins != ["*"] {
            for origin in origins.iter().filter(|origin| !is_origin(origin)) {
                bounds.refuse_text(
                    "server.cors_origins",
                    origin,
                    "origins such as https://dash.example:3000 (no path), or \"*\" alone",
                );
            }
        }
        let settings = ServerSettings {
            listen,
            insecure: self.insecure,
            cors_origins: origins,
            request_timeout: bounds.span(
                "server.request_timeout",
                self.request_timeout,
                secs(1)..=secs(3600),
            ),
            body_bytes_max: bounds.bytes("server.body_bytes_max", self.body_bytes_max, KIB..=GIB),
            body_ratio_max: bounds.count(
                "server.body_ratio_max",
                self.body_ratio_max,
                1..=1_000_000,
            ),
            body_idle_timeout: bounds.span(
                "server.body_idle_timeout",
                self.body_idle_timeout,
                ms(100)..=secs(3600),
            ),
            bodies_bytes_max: bounds.bytes(
                "server.bodies_bytes_max",
                self.bodies_bytes_max,
                MIB..=TIB,
            ),
            connections_max: bounds.count(
                "server.connections_max",
                self.connections_max,
                1..=1_000_000,
            ),
            head_timeout: bounds.span(
                "server.head_timeout",
                self.head_timeout,
                secs(1)..=secs(3600),
            ),
        };
        let (one, all) = (settings.body_bytes_max, settings.bodies_bytes_max);
        if all != 0 && all < one {
            bounds.refuse(
                "server.bodies_bytes_max",
                show_bytes(self.bodies_bytes_max.0),
                format_args!(
                    "at least server.body_bytes_max ({})",
                    show_bytes(self.body_bytes_max.0)
                ),
            );
        }
        settings
    }
}

/// Scheme, host and perhaps a port, as browsers send them.
fn is_origin(text: &str) -> bool {
    let host = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    host.is_some_and(|host| {
        !host.is_empty()
            && host.bytes().all(|byte| byte.is_ascii_graphic())
            && !host.contains(['/', '?', '#', '@', '*'])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_has_no_path_and_no_wildcard() {
        for origin in [
            "https://a.example",
            "http://localhost:3000",
            "http://[::1]:3000",
        ] {
            assert!(is_origin(origin), "{origin}");
        }
        for other in [
            "a.example",
            "https://",
            "https://a/",
            "https://*.a",
            "ftp://a",
            "https://u@a",
            "*",
        ] {
            assert!(!is_origin(other), "{other}");
        }
    }
}
