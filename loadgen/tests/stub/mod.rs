//! A naive hourglass in memory, with faults to plant.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use flate2::read::GzDecoder;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;

/// What the stub does wrong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing.
    #[default]
    None,
    /// One hour's sum is off by a thousandth.
    Sum,
    /// One reading of S1 is gone before it is stored.
    Missing,
    /// One reading of S1 is answered and counted twice.
    Doubled,
    /// One reading of S1 has the next double as its value.
    Altered,
    /// An accepted value is in no other counter.
    Ledger,
    /// One item of each batch is rejected.
    Rejecting,
}

type Measures = BTreeMap<String, f64>;

/// The stub's state.
#[derive(Debug, Default)]
pub(crate) struct Stub {
    fault: Fault,
    sensors: BTreeMap<String, BTreeMap<i64, Measures>>,
    items: usize,
    accepted: usize,
    rejected: usize,
    stored: usize,
    duplicate: usize,
    conflict: usize,
    /// Requests that are still answered with a 503.
    busy: usize,
    /// Every so many requests are refused; half of these are taken all the same.
    refuse_every: Option<usize>,
    /// Requests seen.
    pub(crate) requests: usize,
}

type Shared = Arc<Mutex<Stub>>;

impl Stub {
    /// With a fault.
    pub(crate) fn with(fault: Fault) -> Self {
        Self {
            fault,
            ..Self::default()
        }
    }

    /// That answers so many requests with a 503 first.
    pub(crate) fn busy(busy: usize) -> Self {
        Self {
            busy,
            ..Self::default()
        }
    }

    /// That refuses one of so many requests, and takes half of these all the same.
    pub(crate) fn refusing(every: usize) -> Self {
        Self {
            refuse_every: Some(every),
            ..Self::default()
        }
    }

    /// Serves on a port of the loopback; returns the URL and the state.
    pub(crate) async fn serve(self) -> (String, Shared) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Mutex::new(self));
        tokio::spawn(serve_on(listener, Arc::clone(&shared)));
        (url, shared)
    }

    fn take(&mut self, item: &Map<String, Value>) {
        let id = item["sensorId"].as_str().unwrap();
        let at: Timestamp = item["ts"].as_str().unwrap().parse().unwrap();
        let numbers = item.iter().filter_map(|(k, v)| Some((k, v.as_f64()?)));
        let stored = self.sensors.entry(id.to_owned()).or_default();
        let planted = id == "S1" && stored.len() == 5;
        let reading = stored.entry(at.as_microsecond()).or_default();
        for (name, mut value) in numbers {
            self.accepted += 1;
            if planted && self.fault == Fault::Altered {
                value = value.next_up();
            }
            match reading.get(name) {
                None => {
                    reading.insert(name.clone(), value);
                    self.stored += 1;
                }
                Some(old) if old.to_bits() == value.to_bits() => self.duplicate += 1,
                Some(_) => self.conflict += 1,
            }
        }
        if planted && self.fault == Fault::Missing {
            stored.remove(&at.as_microsecond());
        }
    }

    fn readings(&self, id: &str, range: &BTreeMap<String, String>) -> Vec<(i64, Measures)> {
        let bound = |name: &str| range[name].parse::<Timestamp>().unwrap().as_microsecond();
        let Some(stored) = self.sensors.get(id) else {
            return Vec::new();
        };
        let mut readings: Vec<(i64, Measures)> = stored
            .range(bound("from")..bound("to"))
            .map(|(at, measures)| (*at, measures.clone()))
            .collect();
        if id == "S1" && self.fault == Fault::Doubled {
            readings.insert(3, readings[3].clone());
        }
        readings
    }
}

/// Serves a stub on a listener until the test ends.
pub(crate) async fn serve_on(listener: TcpListener, shared: Shared) {
    let router = Router::new()
        .route("/v1/readings", post(ingest))
        .route("/v1/sensors/{id}/hourly", get(hourly))
        .route("/v1/sensors/{id}/readings", get(raw))
        .route("/metrics", get(metrics))
        .with_state(shared);
    axum::serve(listener, router).await.unwrap();
}

async fn ingest(State(stub): State<Shared>, headers: HeaderMap, body: Bytes) -> Response {
    let mut stub = stub.lock().unwrap();
    stub.requests += 1;
    if stub.busy > 0 {
        stub.busy -= 1;
        return (StatusCode::SERVICE_UNAVAILABLE, [("retry-after", "0")]).into_response();
    }
    let body = match headers.get("content-encoding") {
        Some(coding) => {
            assert_eq!(coding, "gzip");
            std::io::read_to_string(GzDecoder::new(&*body)).unwrap()
        }
        None => String::from_utf8(body.into()).unwrap(),
    };
    let object = |line: &str| serde_json::from_str(line).unwrap();
    let mut items: Vec<Map<String, Value>> = match headers["content-type"].to_str().unwrap() {
        "application/json" => serde_json::from_str(&body).unwrap(),
        "application/x-ndjson" => body.lines().map(object).collect(),
        _ => body.lines().map(item_of_line).collect(),
    };
    let rejected = usize::from(stub.fault == Fault::Rejecting);
    items.truncate(items.len() - rejected);
    let number = stub.requests;
    let refused = stub.refuse_every.is_some_and(|every| number % every == 0);
    if refused && number.is_multiple_of(2) {
        return StatusCode::BAD_REQUEST.into_response();
    }
    stub.rejected += rejected;
    stub.items += items.len();
    items.iter().for_each(|item| stub.take(item));
    if refused {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    }
    let answer = json!({ "accepted": items.len(), "rejected": rejected, "errors": [] });
    (StatusCode::ACCEPTED, answer.to_string()).into_response()
}

/// `readings,sensor_id=S1 temp=1.5 NANOSECONDS`, as it would be in JSON.
fn item_of_line(line: &str) -> Map<String, Value> {
    let [tags, fields, at] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
    let at: i64 = at.parse().unwrap();
    let id = tags.strip_prefix("readings,sensor_id=").unwrap();
    let mut item = Map::new();
    item.insert("sensorId".to_owned(), json!(id));
    item.insert("ts".to_owned(), json!(rfc3339(at / 1000)));
    for field in fields.split(',') {
        let (name, value) = field.split_once('=').unwrap();
        item.insert(name.to_owned(), json!(value.parse::<f64>().unwrap()));
    }
    item
}

async fn hourly(
    State(stub): State<Shared>,
    Path(id): Path<String>,
    Query(range): Query<BTreeMap<String, String>>,
) -> String {
    let stub = stub.lock().unwrap();
    let mut hours: BTreeMap<i64, Vec<Measures>> = BTreeMap::new();
    for (at, measures) in stub.readings(&id, &range) {
        let hour = at - at.rem_euclid(3_600_000_000);
        hours.entry(hour).or_default().push(measures);
    }
    let hours: Vec<Value> = hours
        .into_iter()
        .map(|(hour, readings)| {
            let names: BTreeSet<&String> = readings.iter().flat_map(BTreeMap::keys).collect();
            let measures: Map<String, Value> = names
                .into_iter()
                .map(|name| {
                    let values = readings.iter().filter_map(|measures| measures.get(name));
                    (
                        name.clone(),
                        stats(values, stub.fault == Fault::Sum && id == "S1"),
                    )
                })
                .collect();
            json!({ "hour": rfc3339(hour), "count": readings.len(), "measures": measures })
        })
        .collect();
    json!({ "sensorId": id, "hours": hours, "complete": true }).to_string()
}

fn stats<'a>(values: impl Iterator<Item = &'a f64> + Clone, off: bool) -> Value {
    let count = values.clone().count();
    let sum = values.clone().sum::<f64>() + if off { 0.001 } else { 0.0 };
    let (min, max) = values.fold((f64::MAX, f64::MIN), |(min, max), v| {
        (v.min(min), v.max(max))
    });
    json!({ "count": count, "sum": sum, "avg": sum / count as f64, "min": min, "max": max })
}

async fn raw(
    State(stub): State<Shared>,
    Path(id): Path<String>,
    Query(range): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
) -> String {
    assert_eq!(headers["accept"], "application/x-ndjson");
    let mut lines = String::new();
    for (at, measures) in stub.lock().unwrap().readings(&id, &range) {
        let line = json!({ "sensorId": id, "ts": rfc3339(at), "measures": measures });
        writeln!(lines, "{line}").unwrap();
    }
    lines
}

async fn metrics(State(stub): State<Shared>) -> String {
    let stub = stub.lock().unwrap();
    let items = stub.items;
    let stored = stub.stored - usize::from(stub.fault == Fault::Ledger);
    format!(
        "# TYPE hourglass_items_received_total counter\nhourglass_items_received_total {}\n\
         # TYPE hourglass_items_accepted_total counter\nhourglass_items_accepted_total {items}\n\
         # TYPE hourglass_items_rejected_total counter\n\
         hourglass_items_rejected_total{{code=\"not_finite\"}} {}\n\
         hourglass_values_accepted_total {}\nhourglass_values_recovered_total 0\n\
         hourglass_values_stored_total {stored}\nhourglass_values_duplicate_total {}\n\
         hourglass_values_conflict_total {}\nhourglass_values_pending 0\n",
        items + stub.rejected,
        stub.rejected,
        stub.accepted,
        stub.duplicate,
        stub.conflict,
    )
}

fn rfc3339(micros: i64) -> String {
    Timestamp::from_microsecond(micros).unwrap().to_string()
}
