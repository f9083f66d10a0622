//! Datagrams at fault: each costs itself, is counted by its code, and is told in
//! the log now and then.

use super::counts::Counts;
use super::{HOUR, readings, send, sender, start};

fn rejected(counts: &Counts, code: &str) -> f64 {
    counts.sample(&format!(
        "hourglass_items_rejected_total{{code=\"{code}\"}}"
    ))
}

#[tokio::test]
async fn a_bad_line_costs_no_other_and_is_counted_by_its_code() {
    let dir = tempfile::tempdir().unwrap();
    let server = start(dir.path()).start();
    let socket = sender(server.udp());
    send(
        &socket,
        &[
            format!(
                "m,sensor=S1 x=1 {HOUR}\nbroken\nm,sensor=S1 x=2 {}",
                HOUR + 1
            ),
            format!("m,sensor=S1 state=\"on\" {HOUR}"),
            format!("m,sensor=S1 x=3 {}", HOUR + 2),
            "m,sensor=S1 x=4 17".to_owned(),
        ],
    );
    let counts = Counts::all_decoded(&server, 4).await;
    let expected = [(0, 1.0), (1, 2.0), (2, 3.0)];
    assert_eq!(readings(&server, "S1", "x").await, expected);
    for code in ["invalid_line", "no_measures", "too_old"] {
        assert_eq!(rejected(&counts, code), 1.0, "{code}");
    }
    let items = |what: &str| counts.sample(&format!("hourglass_items_{what}_total"));
    assert_eq!((items("received"), items("accepted")), (6.0, 3.0));

    let told = server.wait_for_log("items of datagrams were refused");
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["code"], "invalid_line", "{told}");
    let source = socket.local_addr().unwrap().to_string();
    assert_eq!(told["source"], source, "{told}");
    assert!(!told["detail"].as_str().unwrap().is_empty(), "{told}");
}

/// The first is told at once; the rest when 10 s have passed, or at the end.
#[tokio::test]
async fn what_is_refused_is_told_seldom_and_in_sum() {
    let dir = tempfile::tempdir().unwrap();
    let server = start(dir.path()).start();
    let socket = sender(server.udp());
    for sent in 1..=20 {
        send(&socket, &["broken"]);
        Counts::all_decoded(&server, sent).await;
    }
    let (status, log) = server.stop();
    assert!(status.success());
    let told = log
        .iter()
        .filter(|line| line.contains("items of datagrams were refused"));
    let told: Vec<serde_json::Value> = told
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let datagrams: u64 = told
        .iter()
        .map(|line| line["datagrams"].as_u64().unwrap())
        .sum();
    assert_eq!(datagrams, 20, "{told:#?}");
    assert!(told.len() < 20, "{told:#?}");
}

#[tokio::test]
async fn json_that_is_not_whole_is_one_refused_item() {
    let dir = tempfile::tempdir().unwrap();
    let server = start(dir.path()).start();
    let whole = format!(r#"{{"sensorId":"S1","ts":{HOUR},"x":1}}"#);
    let socket = sender(server.udp());
    send(
        &socket,
        &[
            format!("[{whole},{whole}"),
            format!("{whole}{whole}"),
            whole[..20].to_owned(),
        ],
    );
    let counts = Counts::all_decoded(&server, 3).await;
    assert_eq!(rejected(&counts, "invalid_json"), 3.0);
    assert_eq!(counts.sample("hourglass_items_received_total"), 3.0);
    assert_eq!(readings(&server, "S1", "x").await, []);
    send(&socket, &[whole]);
    Counts::all_decoded(&server, 4).await;
    assert_eq!(readings(&server, "S1", "x").await, [(0, 1.0)]);
}

#[tokio::test]
async fn an_empty_datagram_is_counted_and_no_item() {
    let dir = tempfile::tempdir().unwrap();
    let server = start(dir.path()).start();
    send(&sender(server.udp()), &["", "\n", "# a remark", ""]);
    let counts = Counts::all_decoded(&server, 4).await;
    assert_eq!(counts.empty, 3);
    assert_eq!(counts.sample("hourglass_items_received_total"), 0.0);
}
