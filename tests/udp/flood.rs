//! More datagrams than can be taken, and one client over HTTP meanwhile: every
//! datagram is accounted for at the end, and the client is served.
//!
//! How long, in seconds: `HOURGLASS_TEST_FLOOD_SECONDS`. What it prints depends on
//! the machine and on the build, and is never judged here.

use std::io::{IoSlice, Write};
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use nix::sys::socket::{MsgFlags, MultiHeaders, sendmmsg};
use serde_json::json;
use tokio::sync::oneshot;

use super::counts::Counts;
use super::{HOUR, sender, start};
use crate::support::eventually::eventually;
use crate::support::hourglass::Hourglass;

const SECONDS: &str = "HOURGLASS_TEST_FLOOD_SECONDS";

/// Datagrams in one system call.
const BATCH: usize = 64;

const SENSORS: u64 = 1000;

/// How much more is sent than can be taken.
const EXCESS: f64 = 1.5;

/// Sends lines, each a new instant of one of [`SENSORS`].
struct Sender {
    socket: UdpSocket,
    sent: u64,
    texts: Vec<Vec<u8>>,
}

impl Sender {
    /// Sends for `time`: at `rate` datagrams a second, or as fast as it can.
    fn run(&mut self, time: Duration, rate: Option<f64>) {
        let (start, first) = (Instant::now(), self.sent);
        while start.elapsed() < time {
            if let Some(rate) = rate {
                let due = (start.elapsed().as_secs_f64() * rate) as u64;
                if self.sent - first + BATCH as u64 > due {
                    pause();
                    continue;
                }
            }
            self.send_batch();
        }
    }

    fn send_batch(&mut self) {
        for (number, text) in (self.sent..).zip(&mut self.texts) {
            let (sensor, step) = (number % SENSORS, number / SENSORS);
            let at = HOUR * 1000 + step;
            text.clear();
            write!(text, "m,sensor=S{sensor} v={step} {at}").unwrap();
        }
        let slices = self.texts.iter().map(|text| [IoSlice::new(text)]);
        let slices: Vec<_> = slices.collect();
        let mut headers = MultiHeaders::<()>::preallocate(BATCH, None);
        let sent = sendmmsg(
            self.socket.as_raw_fd(),
            &mut headers,
            &slices,
            [None; BATCH],
            [],
            MsgFlags::empty(),
        );
        self.sent += sent.unwrap().count() as u64;
    }
}

#[expect(clippy::disallowed_methods, reason = "a pace is made of pauses")]
fn pause() {
    std::thread::sleep(Duration::from_micros(500));
}

/// Posts one reading at a time until `over`: the time that each took.
async fn post_until(server: &Hourglass, mut over: oneshot::Receiver<()>) -> Vec<Duration> {
    let mut took = Vec::new();
    let body = json!({"sensorId": "http", "temp": 1.5});
    while over.try_recv() == Err(oneshot::error::TryRecvError::Empty) {
        let start = Instant::now();
        let (status, answer) = server.post(&body).await;
        took.push(start.elapsed());
        assert_eq!(status, 202, "{answer}");
    }
    took
}

fn percentiles(mut took: Vec<Duration>) -> String {
    took.sort();
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize].as_secs_f64() * 1000.0;
    format!(
        "p50 {:.2} ms, p99 {:.2} ms, max {:.2} ms of {}",
        at(0.5),
        at(0.99),
        at(1.0),
        took.len()
    )
}

/// Runs the sender on a thread of its own, the client meanwhile.
async fn flood(
    server: &Hourglass,
    mut sender: Sender,
    time: Duration,
    rate: Option<f64>,
) -> (Sender, Vec<Duration>) {
    let (done, over) = oneshot::channel();
    let sending = tokio::task::spawn_blocking(move || {
        sender.run(time, rate);
        // The client waits for it.
        done.send(()).unwrap();
        sender
    });
    let took = post_until(server, over).await;
    (sending.await.unwrap(), took)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_is_accounted_for_to_the_last_datagram_while_http_is_served() {
    let seconds = std::env::var(SECONDS).map_or(3, |text| text.parse().unwrap());
    let time = Duration::from_secs(seconds);
    let dir = tempfile::tempdir().unwrap();
    // What the client posts is of an hour that is open yet.
    let server = start(dir.path()).set("FLUSH__AGE_MAX", "1s").start();
    let texts = vec![Vec::new(); BATCH];
    let sender = Sender {
        socket: sender(server.udp()),
        sent: 0,
        texts,
    };

    let (done, over) = oneshot::channel();
    let idle = tokio::join!(post_until(&server, over), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        done.send(()).unwrap();
    });
    // As fast as it can: what is decoded meanwhile is what can be taken.
    let start = Instant::now();
    let calibration = Duration::from_secs(1);
    let (sender, mut posts) = flood(&server, sender, calibration, None).await;
    let before = Counts::at_rest(&server, sender.sent).await;
    let capacity = before.decoded as f64 / start.elapsed().as_secs_f64();

    let start = Instant::now();
    let sent_before = sender.sent;
    let (sender, busy) = flood(&server, sender, time, Some(capacity * EXCESS)).await;
    let sending = start.elapsed().as_secs_f64();
    let counts = Counts::at_rest(&server, sender.sent).await;
    let elapsed = start.elapsed().as_secs_f64();

    println!("idle:   HTTP {}", percentiles(idle.0.clone()));
    println!(
        "flood:  HTTP {} ({})",
        percentiles(busy.clone()),
        if cfg!(debug_assertions) {
            "debug build"
        } else {
            "release build"
        }
    );
    println!(
        "sent {:.0} datagrams/s ({:.2} of what calibration took), durable {:.0}/s; in all sent \
         {}, durable {}, dropped by the kernel {}, by the queue {}",
        (sender.sent - sent_before) as f64 / sending,
        (sender.sent - sent_before) as f64 / sending / capacity,
        (counts.decoded - before.decoded) as f64 / elapsed,
        sender.sent,
        counts.decoded,
        counts.dropped("kernel"),
        counts.dropped("queue_full"),
    );

    let stored = async || {
        let samples = server.samples().await;
        let is_stored = samples["hourglass_values_pending"] == 0.0;
        is_stored.then_some(samples)
    };
    let samples = eventually("everything is stored", stored).await;
    let one = |name: &str| samples[name] as u64;
    let rejected = samples.iter().filter_map(|(name, items)| {
        name.starts_with("hourglass_items_rejected_total")
            .then_some(*items as u64)
    });
    posts.extend(idle.0);
    posts.extend(busy);
    let came_out = one("hourglass_values_stored_total")
        + one("hourglass_values_duplicate_total")
        + one("hourglass_values_conflict_total")
        - posts.len() as u64;
    let lost = counts.dropped("kernel") + counts.dropped("queue_full");
    assert_eq!(
        sender.sent,
        came_out + rejected.sum::<u64>() + lost,
        "{counts:?}"
    );
    assert_eq!(came_out, counts.decoded, "each is an instant of its own");
}
