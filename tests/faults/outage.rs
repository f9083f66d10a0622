//! I8, I6: the store is away for a while, at a steady rate of readings that does
//! not wait for answers: all are taken, memory keeps its bound as the journal is
//! the queue, queries say what they may miss; then everything drains, the oldest
//! first, while new readings come.
//!
//! `HOURGLASS_TEST_OUTAGE_SECONDS` (12), `HOURGLASS_TEST_OUTAGE_RATE` in readings
//! per second (20000), `HOURGLASS_TEST_OUTAGE_BUFFER` (4MiB) and
//! `HOURGLASS_TEST_OUTAGE_STEP` in seconds between two readings of a sensor (20)
//! make it longer; it prints the peak of memory and the rate of draining.

use std::time::{Duration, Instant};

use bytesize::ByteSize;
use mongodb::bson::{DateTime, Document, doc};
use serde_json::json;
use tokio::task::JoinSet;

use super::kills::busy;
use crate::machine_temperature::ledger::at_rest;
use crate::operation::builders::until;
use crate::support::hourglass::Hourglass;
use crate::support::mongod::{Mongod, client};
use crate::support::site::Site;

const SENSORS: u64 = 200;
/// 2026-05-01T00:00:00Z, seconds.
const START: u64 = 1_777_593_600;
const BATCHES_PER_SECOND: u64 = 20;
/// Seconds of new readings while it drains.
const AFTERWARDS: u64 = 3;

fn setting(name: &str, usual: u64) -> u64 {
    let asked = std::env::var(format!("HOURGLASS_TEST_OUTAGE_{name}"));
    asked.map_or(usual, |asked| asked.parse().unwrap())
}

struct Load {
    http: reqwest::Client,
    url: String,
    batch: u64,
    step: u64,
    sent: u64,
}

impl Load {
    /// Posts for so many seconds at the rate, whatever the answers take; all must
    /// be 202. The longest that one took.
    async fn run(&mut self, seconds: u64) -> Duration {
        let mut pace = tokio::time::interval(Duration::from_millis(1000 / BATCHES_PER_SECOND));
        let mut requests = JoinSet::new();
        let mut longest = Duration::ZERO;
        for _ in 0..seconds * BATCHES_PER_SECOND {
            pace.tick().await;
            let lines = (self.sent..self.sent + self.batch).map(|number| {
                let (sensor, at) = (number % SENSORS, START + number / SENSORS * self.step);
                format!("m,sensor=S{sensor} temp={} {at}\n", value(number))
            });
            let request = self
                .http
                .post(&self.url)
                .header("content-type", "text/plain");
            let request = request.body(lines.collect::<String>());
            self.sent += self.batch;
            requests.spawn(async move {
                let began = Instant::now();
                let answer = request.send().await.unwrap();
                assert_eq!(answer.status().as_u16(), 202);
                began.elapsed()
            });
            while let Some(took) = requests.try_join_next() {
                longest = longest.max(took.unwrap());
            }
        }
        while let Some(took) = requests.join_next().await {
            longest = longest.max(took.unwrap());
        }
        longest
    }
}

/// Eighths: sums are exact in any order.
fn value(number: u64) -> f64 {
    (number * 7 % 1000) as f64 / 8.0
}

fn peak_memory(server: &Hourglass) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.unwrap().trim().trim_end_matches(" kB");
    kib.parse::<u64>().unwrap() << 10
}

/// Documents of an hour.
async fn documents(database: &mongodb::Database, hour: u64) -> u64 {
    let hour = DateTime::from_millis((hour * 3_600_000) as i64);
    let buckets = database.collection::<Document>("buckets");
    buckets
        .count_documents(doc! { "hour": hour })
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_at_a_steady_rate_loses_nothing_keeps_its_memory_and_drains_oldest_first() {
    let (seconds, rate) = (setting("SECONDS", 12), setting("RATE", 20_000));
    let buffer = std::env::var("HOURGLASS_TEST_OUTAGE_BUFFER").unwrap_or("4MiB".to_owned());
    let buffer_bytes = buffer.parse::<ByteSize>().unwrap().as_u64();
    let site = Site::embedded().await;
    let mut mongod = Mongod::new();
    let start = busy(site.start())
        .store(&mongod.uri_of("outage"))
        .set("BUFFER__BYTES_MAX", &buffer)
        .set("JOURNAL__SEGMENT_BYTES", "1MiB")
        .set("JOURNAL__QUEUE_BYTES_MAX", "4MiB")
        .set("JOURNAL__BYTES_MAX", "8GiB");
    // The store is away from the very start.
    let server = start.start();
    let mut load = Load {
        http: server.http().clone(),
        url: server.url("/v1/readings"),
        batch: rate / BATCHES_PER_SECOND,
        step: setting("STEP", 20),
        sent: 0,
    };
    let longest = load.run(seconds).await;
    let (status, ready) = server.get("/readyz").await;
    assert_eq!((status, &ready["store"]), (200, &json!("down")), "{ready}");
    assert_eq!(ready["complete"], false, "{ready}");
    assert!(ready["journalFullIn"].as_f64().unwrap() > 0.0, "{ready}");
    assert!(ready["lagRecords"].as_u64().unwrap() > 0, "{ready}");
    let journal_bytes = server.metric("hourglass_journal_bytes").await;
    let (_, answer) = server
        .get("/v1/sensors/S0/hourly?from=2026-05-01T00:00:00Z&to=now")
        .await;
    assert_eq!(answer["complete"], false, "{answer}");
    assert_eq!(answer["incompleteReason"], "store_unavailable");

    let during = load.sent;
    mongod.start().await;
    let began = Instant::now();
    let uri = mongod.uri();
    let database = client(&uri).await.database("outage");
    let last_hour = (START + (during - 1) / SENSORS * load.step) / 3600;
    let order = tokio::spawn(async move {
        until(async || documents(&database, last_hour).await > 0).await;
        documents(&database, START / 3600).await
    });
    let afterwards = load.run(AFTERWARDS).await;
    let drained = async || {
        let (pending, lag) = tokio::join!(
            server.metric("hourglass_values_pending"),
            server.metric("hourglass_applier_lag_records")
        );
        pending == 0.0 && lag == 0.0
    };
    while !drained().await {
        tokio::task::yield_now().await;
    }
    let drain = began.elapsed();
    let whole = order.await.unwrap();
    assert_eq!(
        whole, SENSORS,
        "the newest hour came before the oldest was there"
    );
    let ledger = at_rest(&server).await;
    assert_eq!(ledger.values_stored, load.sent);
    assert_eq!(ledger.values_duplicate + ledger.values_conflict, 0);
    check(&server, &load).await;
    let peak = peak_memory(&server);
    eprintln!(
        "outage of {seconds} s at {rate} readings/s: {} readings, lost 0, twice 0; journal {:.0} MiB; \
         peak memory {} MiB with a bound of {buffer}; drained in {drain:?}, {:.0} readings/s; \
         longest request {longest:?}, while it drained {afterwards:?}",
        load.sent,
        journal_bytes / 1048576.0,
        peak >> 20,
        load.sent as f64 / drain.as_secs_f64(),
    );
    // Besides the buffer: what the allocator keeps of it, two commands under way
    // with all their copies, the queue, and the process itself.
    assert!(peak < 2 * buffer_bytes + (128 << 20), "{peak} bytes");
    super::fleet::stop_and_verify(server, &start);
}

/// Counts and sums of every sensor, hour by hour.
async fn check(server: &Hourglass, load: &Load) {
    for sensor in 0..SENSORS {
        let path = format!("/v1/sensors/S{sensor}/hourly?from={START}&to=now");
        let (status, answer) = server.get(&path).await;
        assert_eq!((status, &answer["complete"]), (200, &json!(true)));
        let mut expected: Vec<(u64, u64, f64)> = Vec::new();
        for number in (sensor..load.sent).step_by(SENSORS as usize) {
            let hour = (START + number / SENSORS * load.step) / 3600;
            match expected.last_mut().filter(|(last, ..)| *last == hour) {
                Some((_, count, sum)) => {
                    *count += 1;
                    *sum += value(number);
                }
                None => expected.push((hour, 1, value(number))),
            }
        }
        let hours = answer["hours"].as_array().unwrap();
        assert_eq!(hours.len(), expected.len(), "S{sensor}");
        for (said, (_, count, sum)) in hours.iter().zip(expected) {
            let temp = &said["measures"]["temp"];
            let told = (
                said["count"].as_u64().unwrap(),
                temp["sum"].as_f64().unwrap(),
            );
            assert_eq!(told, (count, sum), "S{sensor}");
        }
    }
}
