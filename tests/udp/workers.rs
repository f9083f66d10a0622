//! Several sockets on one port.

use super::counts::Counts;
use super::{HOUR, readings, send, sender, start};
use crate::support::eventually::eventually;

#[tokio::test]
async fn two_workers_share_a_port_and_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let server = start(dir.path()).set("UDP__WORKERS", "2").start();
    // A thread has its own name once it runs.
    let named = async || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", server.pid())).unwrap();
        let names = tasks.map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")));
        let mut names: Vec<_> = names.map(|name| name.unwrap().trim().to_owned()).collect();
        names.retain(|name| name.starts_with("udp-"));
        names.sort();
        (names == ["udp-0", "udp-1", "udp-decode"]).then_some(())
    };
    eventually("two sockets are read, and one thread decodes", named).await;

    let port = format!(":{:04X} ", server.udp().port());
    let table = std::fs::read_to_string("/proc/net/udp").unwrap();
    let local = |line: &&str| line.contains(&format!("0100007F{port}"));
    assert_eq!(table.lines().filter(local).count(), 2, "{table}");

    // The kernel deals senders out by their addresses: some to each.
    for n in 0..64 {
        let line = format!("m,sensor=S1 x={n} {}", HOUR + n);
        send(&sender(server.udp()), &[line]);
    }
    Counts::all_decoded(&server, 64).await;
    let expected: Vec<_> = (0..64).map(|n| (n, n as f64)).collect();
    assert_eq!(readings(&server, "S1", "x").await, expected);
}
