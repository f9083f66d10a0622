//! What datagrams hold comes out.

use super::counts::Counts;
use super::{HOUR, readings, send, sender, start};

#[tokio::test]
async fn lines_and_json_come_out() {
    let dir = tempfile::tempdir().unwrap();
    let server = start(dir.path()).start();
    let socket = sender(server.udp());
    send(
        &socket,
        &[
            format!("weather,sensor=S1,room=4b temp=24.25,humidity=51i {HOUR}"),
            format!(r#"{{"sensorId":"S2","ts":{HOUR},"temp":1.5}}"#),
            format!(r#"[{{"sensorId":"S2","ts":{},"temp":2.5}}]"#, HOUR + 1),
            format!(
                r#" {{"readings":[{{"sensorId":"S2","ts":{},"temp":3.5}}]}}"#,
                HOUR + 2
            ),
        ],
    );
    Counts::all_decoded(&server, 4).await;
    assert_eq!(readings(&server, "S1", "temp").await, [(0, 24.25)]);
    assert_eq!(readings(&server, "S1", "humidity").await, [(0, 51.0)]);
    let expected = [(0, 1.5), (1, 2.5), (2, 3.5)];
    assert_eq!(readings(&server, "S2", "temp").await, expected);
}

#[tokio::test]
async fn many_lines_come_in_one_datagram() {
    let dir = tempfile::tempdir().unwrap();
    let server = start(dir.path()).start();
    let line = |n: u64| format!("m,sensor=S1 x={n} {}\n", HOUR + n);
    let lines: String = (0..30).map(line).collect();
    send(&sender(server.udp()), &[lines.as_str()]);
    let counts = Counts::all_decoded(&server, 1).await;
    assert_eq!(counts.bytes, lines.len() as u64);
    let expected: Vec<_> = (0..30).map(|n| (n, n as f64)).collect();
    assert_eq!(readings(&server, "S1", "x").await, expected);
    assert_eq!(counts.sample("hourglass_items_accepted_total"), 30.0);
}

/// 65,507 bytes are the most that one holds over IPv4.
#[tokio::test]
async fn the_largest_datagram_there_is_comes_out_whole() {
    const LARGEST: usize = 65_507;
    let dir = tempfile::tempdir().unwrap();
    let server = start(dir.path()).start();
    let mut text = String::new();
    let mut count = 0;
    while text.len() < LARGEST - 100 {
        text += &format!("m,sensor=S1 x={count} {}\n", HOUR + count);
        count += 1;
    }
    text += "#";
    text += &"-".repeat(LARGEST - text.len());
    send(&sender(server.udp()), &[text]);
    let counts = Counts::all_decoded(&server, 1).await;
    assert_eq!(counts.bytes, LARGEST as u64);
    let expected: Vec<_> = (0..count).map(|n| (n, n as f64)).collect();
    assert_eq!(readings(&server, "S1", "x").await, expected);
}

#[tokio::test]
async fn the_unit_of_times_can_be_set() {
    let dir = tempfile::tempdir().unwrap();
    let server = start(dir.path()).set("UDP__UNIT", "m").start();
    let minute = HOUR / 60;
    let json = format!(r#"{{"sensorId":"S1","ts":{},"x":2}}"#, minute + 1);
    let line = format!("m,sensor=S1 x=1 {minute}");
    send(&sender(server.udp()), &[line, json]);
    Counts::all_decoded(&server, 2).await;
    assert_eq!(readings(&server, "S1", "x").await, [(0, 1.0), (60, 2.0)]);
}

#[tokio::test]
async fn what_has_no_time_has_the_time_of_its_receipt() {
    let dir = tempfile::tempdir().unwrap();
    let server = start(dir.path()).start();
    let before = jiff::Timestamp::now();
    send(&sender(server.udp()), &["m,sensor=S1 x=1"]);
    Counts::all_decoded(&server, 1).await;
    let (_, answer) = server.get("/v1/sensors/S1/latest").await;
    let at = answer["latest"]["ts"].as_str().unwrap();
    let at: jiff::Timestamp = at.parse().unwrap();
    assert!(before.as_microsecond() <= at.as_microsecond() && at <= jiff::Timestamp::now());
}
