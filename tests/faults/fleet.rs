//! A fleet under way, and what must have come of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mongodb::bson::{Document, doc};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::machine_temperature::ledger::{Ledger, at_rest};
use crate::support::eventually::eventually;
use crate::support::hourglass::{Hourglass, Start};

/// 2026-05-01T00:00:00Z, seconds; all its hours are closed.
const START: u64 = 1_777_593_600;
const HOUR: u64 = 3600;

/// Readings of a batch.
const BATCH: u64 = 20;

/// Between two batches of a client, so that a run is bounded.
const BATCH_EVERY: Duration = Duration::from_millis(10);

/// How long a client waits for an answer before it tries again.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// Of so many readings of a second process one has another value.
const OTHER_EVERY: u64 = 50;

/// The value of a reading: eighths, so that sums are exact in any order.
fn value(sensor: usize, second: u64) -> f64 {
    ((sensor as u64 * 37 + second * 7) % 1000) as f64 / 8.0
}

/// The same as the second of two processes is told it.
fn value_of_other(sensor: usize, second: u64) -> f64 {
    let other = second.is_multiple_of(OTHER_EVERY);
    value(sensor, second) + if other { 1000.0 } else { 0.0 }
}

struct Shared {
    is_over: AtomicBool,
    acknowledged: AtomicU64,
    retries: AtomicU64,
    /// Of the fleet, since `began`: milliseconds at the last 202, and the longest
    /// time between two.
    last: AtomicU64,
    longest_gap: AtomicU64,
    began: Instant,
}

impl Shared {
    fn acknowledge(&self) {
        self.acknowledged.fetch_add(BATCH, Ordering::SeqCst);
        let now = self.began.elapsed().as_millis() as u64;
        let before = self.last.fetch_max(now, Ordering::SeqCst);
        let gap = now.saturating_sub(before);
        self.longest_gap.fetch_max(gap, Ordering::SeqCst);
    }
}

struct ClientEnd {
    seconds: u64,
    longest_request: Duration,
}

/// A fleet under way.
pub(super) struct Fleet {
    shared: Arc<Shared>,
    clients: Vec<JoinHandle<ClientEnd>>,
    processes: usize,
}

/// What a fleet sent, all of it acknowledged.
pub(super) struct Sent {
    /// Seconds of each sensor, one reading each.
    seconds: Vec<u64>,
    /// Whether two processes were told values.
    is_twofold: bool,
    pub(super) readings: u64,
    pub(super) longest_request: Duration,
    pub(super) longest_gap: Duration,
    pub(super) retries: u64,
}

impl Fleet {
    /// A sensor for each of `sensors`, which posts to each of `servers`
    /// (`host:port`) the same instants; to a second one some other values.
    pub(super) fn start(servers: &[&str], sensors: usize) -> Self {
        let shared = Arc::new(Shared {
            is_over: AtomicBool::new(false),
            acknowledged: AtomicU64::new(0),
            retries: AtomicU64::new(0),
            last: AtomicU64::new(0),
            longest_gap: AtomicU64::new(0),
            began: Instant::now(),
        });
        let mut clients = Vec::new();
        for sensor in 0..sensors {
            for (number, server) in servers.iter().enumerate() {
                let url = format!("http://{server}/v1/readings");
                clients.push(tokio::spawn(client(
                    Arc::clone(&shared),
                    url,
                    sensor,
                    number,
                )));
            }
        }
        Self {
            shared,
            clients,
            processes: servers.len(),
        }
    }

    /// Waits until so many more readings are acknowledged.
    pub(super) async fn more(&self, readings: u64) {
        let until = self.shared.acknowledged.load(Ordering::SeqCst) + readings;
        let is_there = async || {
            let acknowledged = self.shared.acknowledged.load(Ordering::SeqCst);
            (acknowledged >= until).then_some(())
        };
        eventually("more readings are acknowledged", is_there).await;
    }

    /// Ends once each client's batch is acknowledged.
    pub(super) async fn finish(self) -> Sent {
        self.shared.is_over.store(true, Ordering::SeqCst);
        let mut seconds = Vec::new();
        let mut longest_request = Duration::ZERO;
        for (number, client) in self.clients.into_iter().enumerate() {
            let end = client.await.unwrap();
            longest_request = longest_request.max(end.longest_request);
            match number % self.processes {
                0 => seconds.push(end.seconds),
                _ => {
                    let known = seconds.last_mut().unwrap();
                    *known = end.seconds.max(*known);
                }
            }
        }
        Sent {
            readings: seconds.iter().sum(),
            seconds,
            is_twofold: self.processes > 1,
            longest_request,
            longest_gap: Duration::from_millis(self.shared.longest_gap.load(Ordering::SeqCst)),
            retries: self.shared.retries.load(Ordering::SeqCst),
        }
    }
}

async fn client(shared: Arc<Shared>, url: String, sensor: usize, number: usize) -> ClientEnd {
    let http = reqwest::Client::builder()
        .timeout(ANSWER_WITHIN)
        .build()
        .unwrap();
    let mut pace = tokio::time::interval(BATCH_EVERY);
    let mut seconds = 0;
    let mut longest_request = Duration::ZERO;
    while !shared.is_over.load(Ordering::SeqCst) {
        let item = |second: u64| {
            let value = match number {
                0 => value(sensor, second),
                _ => value_of_other(sensor, second),
            };
            json!({ "sensorId": name(sensor), "ts": START + second, "temp": value })
        };
        let body: Value = (seconds..seconds + BATCH).map(item).collect();
        let body = body.to_string();
        let began = Instant::now();
        loop {
            pace.tick().await;
            let request = http.post(&url).header("content-type", "application/json");
            let answer = request.body(body.clone()).send().await;
            match answer.map(|answer| answer.status().as_u16()) {
                Ok(202) => break,
                Ok(status) => assert!(status >= 500, "answered {status}"),
                Err(_) => {}
            }
            shared.retries.fetch_add(1, Ordering::SeqCst);
        }
        longest_request = longest_request.max(began.elapsed());
        shared.acknowledge();
        seconds += BATCH;
    }
    ClientEnd {
        seconds,
        longest_request,
    }
}

fn name(sensor: usize) -> String {
    format!("fleet {sensor}|x")
}

fn path(sensor: usize) -> String {
    format!("/v1/sensors/fleet%20{sensor}%7Cx")
}

impl Sent {
    /// Checks that the service at rest says exactly this, from the hours and
    /// reading by reading, and that its ledger balances.
    pub(super) async fn check(&self, server: &Hourglass) -> Ledger {
        let ledger = at_rest(server).await;
        for (sensor, seconds) in self.seconds.iter().enumerate() {
            let readings = self.check_readings(server, sensor, *seconds).await;
            check_hours(server, sensor, &readings).await;
        }
        ledger
    }

    /// The values of a sensor, second by second.
    async fn check_readings(&self, server: &Hourglass, sensor: usize, seconds: u64) -> Vec<f64> {
        let mut values = Vec::new();
        let mut cursor = String::new();
        loop {
            let path = format!("{}/readings?limit=10000{cursor}", path(sensor));
            let (status, page) = server.get(&path).await;
            assert_eq!((status, &page["complete"]), (200, &json!(true)), "{page}");
            for reading in page["readings"].as_array().unwrap() {
                let second = values.len() as u64;
                let at = jiff::Timestamp::from_second((START + second) as i64).unwrap();
                assert_eq!(reading["ts"], at.to_string(), "{}", name(sensor));
                let value = reading["measures"]["temp"].as_f64().unwrap();
                let is_other = self.is_twofold && value == value_of_other(sensor, second);
                assert!(
                    is_other || value == self::value(sensor, second),
                    "{} second {second}: {value}",
                    name(sensor)
                );
                values.push(value);
            }
            match page["next"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        assert_eq!(values.len() as u64, seconds, "{}", name(sensor));
        values
    }

    /// Checks that the documents hold each reading once.
    pub(super) async fn check_documents(&self, database: &mongodb::Database) {
        let sizes =
            doc! { "$group": { "_id": null, "elements": { "$sum": { "$size": "$readings" } } } };
        let buckets = database.collection::<Document>("buckets");
        let mut sums = buckets.aggregate([sizes]).await.unwrap();
        assert!(sums.advance().await.unwrap());
        let sums = sums.deserialize_current().unwrap();
        let elements = sums.get_i32("elements").unwrap();
        assert_eq!(elements as u64, self.readings);
    }

    /// What a run took, for people.
    pub(super) fn tell(&self, what: &str) {
        eprintln!(
            "{what}: {} readings, {} retries, longest request {:?}, longest time between two 202 {:?}",
            self.readings, self.retries, self.longest_request, self.longest_gap
        );
    }
}

async fn check_hours(server: &Hourglass, sensor: usize, values: &[f64]) {
    let path = format!(
        "{}/hourly?from={START}&to={}",
        path(sensor),
        START + 400 * HOUR
    );
    let (status, answer) = server.get(&path).await;
    assert_eq!((status, &answer["complete"]), (200, &json!(true)));
    let hours = answer["hours"].as_array().unwrap();
    let expected = values.chunks(HOUR as usize);
    assert_eq!(hours.len(), expected.len());
    for (hour, values) in hours.iter().zip(expected) {
        let temp = &hour["measures"]["temp"];
        let told = |field: &str| temp[field].as_f64().unwrap();
        let expected = (
            values.len() as f64,
            values.iter().sum::<f64>(),
            values.iter().copied().fold(f64::INFINITY, f64::min),
            values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        );
        let said = (told("count"), told("sum"), told("min"), told("max"));
        assert_eq!(said, expected, "{}", name(sensor));
        assert_eq!(hour["count"], values.len());
    }
}

/// Stops the service in order and has its store verified.
pub(super) fn stop_and_verify(server: Hourglass, start: &Start) {
    let (status, log) = server.stop();
    assert!(status.success(), "{log:#?}");
    start.verify();
}
