//! I10: what was received before a stop is not lost by it.

use super::counts::Counts;
use super::{HOUR, readings, send, sender, start};

/// What the kernel still holds is read, what the queue holds is journalled and
/// flushed, before the process ends.
#[tokio::test]
async fn a_stop_takes_what_was_sent_before_it() {
    const SENT: u64 = 3000;
    let dir = tempfile::tempdir().unwrap();
    let start = start(dir.path());
    let server = start.start();
    let socket = sender(server.udp());
    server.freeze();
    let line = |n| format!("m,sensor=S1 x={n} {}", HOUR + n);
    let lines: Vec<_> = (0..SENT).map(line).collect();
    send(&socket, &lines);
    server.signal_stop();
    server.thaw();
    let (status, log) = server.stopped();
    assert!(status.success(), "{log:#?}");
    let told = log.iter().find(|line| line.contains("no more datagrams"));
    let told: serde_json::Value = serde_json::from_str(told.unwrap()).unwrap();
    assert_eq!(told["received"], SENT, "{log:#?}");
    for lost in ["kernel_dropped", "dropped"] {
        assert_eq!(told[lost], 0, "{log:#?}");
    }
    let is_whole = |line: &String| line.contains("everything accepted is in the store");
    assert!(log.iter().any(is_whole), "{log:#?}");

    let server = start.start();
    let empty = |line: &String| line.contains("the journal is empty: no recovery");
    assert!(server.log().iter().any(empty));
    let expected: Vec<_> = (0..SENT).map(|n| (n, n as f64)).collect();
    assert_eq!(readings(&server, "S1", "x").await, expected);
}

/// A sender that goes on does not keep the process from stopping.
#[tokio::test]
async fn a_stop_does_not_wait_for_a_sender_that_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let server = start(dir.path()).start();
    let socket = sender(server.udp());
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let (status, log) = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                // Refused once the socket is closed.
                drop(socket.send(b"m,sensor=S1 x=1"));
            }
        });
        let stopped = server.stop();
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        stopped
    });
    assert!(status.success(), "{log:#?}");
    assert!(log.iter().any(|line| line.contains("no more datagrams")));
}

/// A second process cannot take the port, and says so.
#[tokio::test]
async fn a_port_that_is_taken_stops_the_start() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = start(dir.path()).set("UDP__WORKERS", "2").start();
    let address = server.udp().to_string();
    for workers in ["1", "2"] {
        let start = crate::support::hourglass::Start::on(other.path()).udp(&address);
        let mut command = start.set("UDP__WORKERS", workers).command();
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(&format!("udp://{address}")), "{said}");
    }
    send(&sender(server.udp()), &["m,sensor=S1 x=1"]);
    Counts::all_decoded(&server, 1).await;
}
