//! Who may send, and over which IP.

use super::counts::Counts;
use super::{HOUR, readings, send, sender, start};
use crate::support::hourglass::Start;

#[tokio::test]
async fn a_source_that_is_not_on_the_list_is_refused_and_counted() {
    let dir = tempfile::tempdir().unwrap();
    let server = start(dir.path())
        .set("UDP__ALLOW", "10.0.0.0/8,::1")
        .start();
    let socket = sender(server.udp());
    send(&socket, &["m,sensor=S1 x=1", "m,sensor=S1 x=1"]);
    let counts = Counts::at_rest(&server, 2).await;
    assert_eq!(counts.dropped("source_not_allowed"), 2);
    assert_eq!(counts.sample("hourglass_items_received_total"), 0.0);
}

#[tokio::test]
async fn a_source_on_the_list_is_taken() {
    let dir = tempfile::tempdir().unwrap();
    let server = start(dir.path())
        .set("UDP__ALLOW", "10.0.0.0/8,127.0.0.0/8")
        .start();
    send(&sender(server.udp()), &[format!("m,sensor=S1 x=1 {HOUR}")]);
    Counts::all_decoded(&server, 1).await;
    assert_eq!(readings(&server, "S1", "x").await, [(0, 1.0)]);
}

#[tokio::test]
async fn datagrams_come_over_ipv6() {
    let dir = tempfile::tempdir().unwrap();
    let server = Start::on(dir.path()).udp("[::1]:0").start();
    assert!(server.udp().is_ipv6());
    send(&sender(server.udp()), &[format!("m,sensor=S1 x=1 {HOUR}")]);
    Counts::all_decoded(&server, 1).await;
    assert_eq!(readings(&server, "S1", "x").await, [(0, 1.0)]);
}

/// On a socket of both, IPv4 sources come in IPv6 clothes.
#[tokio::test]
async fn an_ipv4_source_is_known_as_such_on_a_socket_of_both() {
    let dir = tempfile::tempdir().unwrap();
    let server = Start::on(dir.path())
        .udp("[::]:0")
        .set("UDP__ALLOW", "127.0.0.0/8")
        .start();
    let port = server.udp().port();
    let v4 = sender(([127, 0, 0, 1], port).into());
    let v6 = sender(format!("[::1]:{port}").parse().unwrap());
    send(&v4, &[format!("m,sensor=S1 x=4 {HOUR}")]);
    send(&v6, &[format!("m,sensor=S1 x=6 {}", HOUR + 1)]);
    let counts = Counts::at_rest(&server, 2).await;
    assert_eq!(counts.dropped("source_not_allowed"), 1);
    assert_eq!(readings(&server, "S1", "x").await, [(0, 4.0)]);
}
