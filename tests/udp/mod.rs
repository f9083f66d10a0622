//! Datagrams end to end: what they hold comes out, and each that does not is
//! counted where it was lost.
//!
//! - [`counts`]: the counters of datagrams, at rest.
//! - [`flood`] sends more than can be taken; the others send what can.

mod counts;
mod door;
mod faults;
mod flood;
mod kernel;
mod queue;
mod sources;
mod stop;
mod values;
mod workers;

use std::net::{SocketAddr, UdpSocket};
use std::path::Path;

use serde_json::Value;

use crate::support::hourglass::{Hourglass, Start};

/// The hour of all readings of these tests, in seconds since 1970:
/// 2025-05-01T10:00:00Z.
const HOUR: u64 = 1_746_093_600;

/// A service on `dir` that takes datagrams on a free port.
fn start(dir: &Path) -> Start {
    Start::on(dir).udp("127.0.0.1:0")
}

/// A socket whose datagrams go to `address`.
fn sender(address: SocketAddr) -> UdpSocket {
    let any: SocketAddr = if address.is_ipv4() {
        ([127, 0, 0, 1], 0).into()
    } else {
        "[::1]:0".parse().unwrap()
    };
    let socket = UdpSocket::bind(any).unwrap();
    socket.connect(address).unwrap();
    socket
}

/// Sends each text as a datagram.
fn send(socket: &UdpSocket, texts: &[impl AsRef<[u8]>]) {
    for text in texts {
        let bytes = text.as_ref();
        assert_eq!(socket.send(bytes).unwrap(), bytes.len());
    }
}

/// Seconds after [`HOUR`] and values of a measure, in order.
async fn readings(server: &Hourglass, sensor: &str, measure: &str) -> Vec<(u64, f64)> {
    let path = format!("/v1/sensors/{sensor}/readings?limit=100000");
    let (status, answer) = server.get(&path).await;
    assert_eq!((status, &answer["complete"]), (200, &Value::Bool(true)));
    let readings = answer["readings"].as_array().unwrap();
    let of_measure = readings.iter().filter_map(|reading| {
        let value = reading["measures"].get(measure)?.as_f64().unwrap();
        let at: jiff::Timestamp = reading["ts"].as_str().unwrap().parse().unwrap();
        Some((at.as_second() as u64 - HOUR, value))
    });
    of_measure.collect()
}
