//! `[udp]`: the UDP receiver.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use ipnet::{IpNet, Ipv4Net};
use serde::{Deserialize, Serialize, Serializer};

use super::bounds::{Bounds, GIB, KIB, MIB};
use super::value::{ByteCount, TextList, write_bytes, write_text};

/// The port where an address comes without one.
const PORT: u16 = 8094;

/// Where datagrams are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UdpListen {
    /// Nowhere.
    Off,
    /// On this address; port 0 takes any free one.
    On(SocketAddr),
}

impl UdpListen {
    /// `off`, an IP address and a port, or an IP address alone.
    fn parse(text: &str) -> Option<Self> {
        if text == "off" {
            return Some(Self::Off);
        }
        let alone = text.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, PORT));
        text.parse().or(alone).ok().map(Self::On)
    }

    /// The address, if it is one.
    #[must_use]
    pub fn address(self) -> Option<SocketAddr> {
        match self {
            Self::Off => None,
            Self::On(address) => Some(address),
        }
    }
}

impl fmt::Display for UdpListen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::On(address) => address.fmt(f),
        }
    }
}

/// The UDP receiver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UdpSettings {
    /// Where it listens.
    #[serde(serialize_with = "write_text")]
    pub listen: UdpListen,
    /// Sockets on the address, each with a thread, 1 to 64.
    pub workers: usize,
    /// Bytes that the kernel may keep for each socket until they are read,
    /// 4 KiB to 512 MiB.
    #[serde(serialize_with = "write_bytes")]
    pub receive_buffer: usize,
    /// Bytes of datagrams that wait to be decoded, 256 KiB to 64 GiB.
    #[serde(serialize_with = "write_bytes")]
    pub queue_bytes_max: usize,
    /// Networks whose datagrams are taken; empty for all. IPv4 networks are
    /// written as such.
    #[serde(serialize_with = "write_networks")]
    pub allow: Vec<IpNet>,
    /// The unit of numeric times (`ns`, `us`, `ms`, `s`, `m`, `h`), or `auto`:
    /// by magnitude.
    pub unit: String,
}

impl Default for UdpSettings {
    fn default() -> Self {
        Self {
            listen: UdpListen::Off,
            workers: 1,
            receive_buffer: 8 << 20,
            queue_bytes_max: 64 << 20,
            allow: Vec::new(),
            unit: "auto".to_owned(),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawUdp {
    listen: String,
    workers: i64,
    receive_buffer: ByteCount,
    queue_bytes_max: ByteCount,
    allow: TextList,
    unit: String,
}

const UNITS: [&str; 7] = ["auto", "ns", "us", "ms", "s", "m", "h"];

/// Most networks in the list: each datagram is looked up in it.
const ALLOW_MAX: usize = 1000;

impl RawUdp {
    pub(super) fn check(self, bounds: &mut Bounds<'_>) -> UdpSettings {
        let listen = UdpListen::parse(&self.listen).unwrap_or_else(|| {
            bounds.refuse_text(
                "udp.listen",
                &self.listen,
                "\"off\", an IP address and a port such as 127.0.0.1:8094 or [::1]:8094, or an \
                 IP address alone",
            );
            UdpListen::Off
        });
        if self.allow.0.len() > ALLOW_MAX {
            let expected = format_args!("at most {ALLOW_MAX} networks");
            bounds.refuse("udp.allow", self.allow.0.len(), expected);
        }
        let mut allow = Vec::new();
        for text in &self.allow.0 {
            match network(text) {
                Some(network) => allow.push(network),
                None => bounds.refuse_text(
                    "udp.allow",
                    text,
                    "networks such as 10.0.0.0/8 or fd00::/8, or addresses",
                ),
            }
        }
        if !UNITS.contains(&self.unit.as_str()) {
            bounds.refuse_text("udp.unit", &self.unit, UNITS.join(", "));
        }
        UdpSettings {
            listen,
            workers: bounds.count("udp.workers", self.workers, 1..=64),
            receive_buffer: bounds.bytes(
                "udp.receive_buffer",
                self.receive_buffer,
                4 * KIB..=512 * MIB,
            ),
            queue_bytes_max: bounds.bytes(
                "udp.queue_bytes_max",
                self.queue_bytes_max,
                256 * KIB..=64 * GIB,
            ),
            allow,
            unit: self.unit,
        }
    }
}

/// A network, or an address as the network of itself. IPv4 in IPv6 clothes
/// (`::ffff:10.0.0.0/104`) becomes IPv4, as sources do.
fn network(text: &str) -> Option<IpNet> {
    let network = match text.parse::<IpAddr>() {
        Ok(address) => IpNet::from(address),
        Err(_) => text.parse::<IpNet>().ok()?,
    };
    let (IpAddr::V4(address), IpNet::V6(mapped)) = (network.network().to_canonical(), network)
    else {
        return Some(network);
    };
    let length = mapped.prefix_len().checked_sub(96);
    length
        .and_then(|length| Ipv4Net::new(address, length).ok())
        .map_or(Some(network), |network| Some(network.into()))
}

fn write_networks<S: Serializer>(networks: &[IpNet], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(networks.iter().map(IpNet::to_string))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_come_without_a_port() {
        for (text, shown) in [
            ("off", "off"),
            ("127.0.0.1", "127.0.0.1:8094"),
            ("127.0.0.1:0", "127.0.0.1:0"),
            ("::1", "[::1]:8094"),
            ("[::1]:9", "[::1]:9"),
        ] {
            let listen = UdpListen::parse(text);
            assert_eq!(
                listen.map(|listen| listen.to_string()).as_deref(),
                Some(shown)
            );
        }
        for wrong in ["", "on", ":8094", "localhost:8094", "127.0.0.1:65536"] {
            assert_eq!(UdpListen::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn networks_are_read_and_mapped_ones_become_ipv4() {
        for (text, shown) in [
            ("10.0.0.0/8", Some("10.0.0.0/8")),
            ("10.0.0.7", Some("10.0.0.7/32")),
            ("fd00::/8", Some("fd00::/8")),
            ("::ffff:10.0.0.0/104", Some("10.0.0.0/8")),
            ("::ffff:10.0.0.7", Some("10.0.0.7/32")),
            ("::/0", Some("::/0")),
            ("10.0.0.0/33", None),
            ("example", None),
        ] {
            let network = network(text).map(|network| network.to_string());
            assert_eq!(network.as_deref(), shown, "{text}");
        }
    }
}
