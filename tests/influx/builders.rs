//! Requests that write lines, and what is told of them.

use async_compression::tokio::bufread::GzipEncoder;
use reqwest::header::HeaderMap;
use reqwest::{RequestBuilder, Response};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::AsyncReadExt;

use crate::support::hourglass::{Hourglass, Start};

/// 2026-05-01T10:00:00Z in seconds, a whole hour.
pub(super) const TEN: i64 = 1_777_629_600;

/// A process with the default settings, and the directory it works on.
pub(super) fn started() -> (TempDir, Hourglass) {
    let dir = TempDir::new().unwrap();
    let hourglass = Start::on(dir.path()).start();
    (dir, hourglass)
}

pub(super) async fn gzip(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = GzipEncoder::new(text.as_bytes());
    encoder.read_to_end(&mut bytes).await.unwrap();
    bytes
}

/// Where lines can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Endpoint {
    V1,
    V2,
    Readings,
}

/// InfluxDB's own.
pub(super) const INFLUX: [Endpoint; 2] = [Endpoint::V1, Endpoint::V2];

/// All, in the order of their sensors in these tests: `V1`, `V2`, `Readings`.
pub(super) const ALL: [Endpoint; 3] = [Endpoint::V1, Endpoint::V2, Endpoint::Readings];

impl Endpoint {
    /// Its path with parameters as clients send them; `unit` is that of times.
    pub(super) fn path(self, unit: &str) -> String {
        match self {
            Self::V1 if unit.is_empty() => "/write?db=plant".to_owned(),
            Self::V2 if unit.is_empty() => "/api/v2/write?org=acme&bucket=plant".to_owned(),
            Self::Readings if unit.is_empty() => "/v1/readings".to_owned(),
            Self::V1 => format!("/write?db=plant&precision={unit}"),
            Self::V2 => format!("/api/v2/write?org=acme&bucket=plant&precision={unit}"),
            Self::Readings => format!("/v1/readings?unit={unit}"),
        }
    }

    pub(super) fn request(
        self,
        hourglass: &Hourglass,
        unit: &str,
        body: impl Into<reqwest::Body>,
    ) -> RequestBuilder {
        let request = hourglass.http().post(hourglass.url(&self.path(unit)));
        request.header("content-type", "text/plain").body(body)
    }

    pub(super) async fn send(
        self,
        hourglass: &Hourglass,
        unit: &str,
        body: impl Into<reqwest::Body>,
    ) -> Told {
        let response = self.request(hourglass, unit, body).send().await.unwrap();
        Told::of(self, response).await
    }
}

/// An answer.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) endpoint: Endpoint,
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) text: String,
}

impl Told {
    pub(super) async fn of(endpoint: Endpoint, response: Response) -> Self {
        Self {
            endpoint,
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            text: response.text().await.unwrap(),
        }
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("{self:?}"))
    }

    pub(super) fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        let value = value.unwrap_or_else(|| panic!("no {name} in {self:?}"));
        value.to_str().unwrap()
    }

    /// Everything was taken.
    pub(super) fn assert_taken(&self) {
        match self.endpoint {
            Endpoint::Readings => {
                assert_eq!(self.status, 202, "{self:?}");
                assert_eq!(self.json()["rejected"], 0, "{self:?}");
            }
            Endpoint::V1 | Endpoint::V2 => {
                assert_eq!((self.status, self.text.as_str()), (204, ""), "{self:?}");
                assert!(!self.headers.contains_key("content-type"), "{self:?}");
            }
        }
    }

    /// The error in InfluxDB's form, which is right in all of its parts: its
    /// message. `code` is that of version 2.
    pub(super) fn error(&self, status: u16, code: &str) -> String {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.header("content-type"), "application/json");
        let body = self.json();
        let message = match self.endpoint {
            Endpoint::V1 => {
                let message = body["error"].as_str().unwrap().to_owned();
                assert_eq!(body, json!({ "error": message }));
                let start: String = message.chars().take(40).collect();
                assert!(self.header("x-influxdb-error").starts_with(&start));
                message
            }
            Endpoint::V2 => {
                let message = body["message"].as_str().unwrap().to_owned();
                assert_eq!(body, json!({ "code": code, "message": message }));
                message
            }
            Endpoint::Readings => panic!("{self:?} is not InfluxDB's"),
        };
        assert!(!self.header("x-influxdb-version").is_empty());
        assert_eq!(self.headers.contains_key("retry-after"), status == 503);
        if status == 503 {
            assert!(self.header("retry-after").parse::<u64>().unwrap() > 0);
            // Telegraf drops a batch for good when an error holds one of these.
            for words in [
                "partial write",
                "unable to parse",
                "points beyond retention policy",
                "retention policy not found",
                "hinted handoff queue not empty",
            ] {
                assert!(!message.contains(words), "{message}");
            }
        }
        message
    }

    /// Exactly these lines were refused, each for its code, and `accepted`
    /// others were taken.
    pub(super) fn assert_refused(&self, accepted: u64, refused: &[(u64, &str)]) {
        if self.endpoint == Endpoint::Readings {
            let body = self.json();
            let status = if accepted > 0 { 202 } else { 422 };
            assert_eq!(self.status, status, "{self:?}");
            assert_eq!(body["accepted"], accepted, "{self:?}");
            assert_eq!(body["rejected"], refused.len(), "{self:?}");
            let errors = body["errors"].as_array().unwrap();
            let told = errors.iter().map(|error| {
                let line = error["line"].as_u64().unwrap();
                (line, error["code"].as_str().unwrap())
            });
            assert_eq!(told.collect::<Vec<_>>(), refused);
            return;
        }
        let message = self.error(400, "invalid");
        let all = accepted + refused.len() as u64;
        let begin = if accepted > 0 {
            let dropped = refused.len();
            format!("partial write: {dropped} of {all} lines were refused, the others are stored; ")
        } else {
            format!("unable to parse: nothing was stored, {all} of {all} lines were refused; ")
        };
        assert!(message.starts_with(&begin), "{message}");
        let end = format!(" dropped={}", refused.len());
        assert!(message.ends_with(&end), "{message}");
        let parts: Vec<&str> = message.split("; ").collect();
        for (line, code) in refused.iter().take(5) {
            let is_told = |part: &&str| {
                let named = part.strip_prefix(&format!("line {line}"));
                named.is_some_and(|rest| {
                    rest.starts_with([' ', ',']) && rest.contains(&format!("({code}): "))
                })
            };
            assert!(parts.iter().any(is_told), "line {line} {code}: {message}");
        }
    }
}

/// Everything of a sensor, oldest first.
pub(super) async fn readings(hourglass: &Hourglass, sensor: &str) -> Vec<Value> {
    let id: String = sensor.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let (status, answer) = hourglass.get(&format!("/v1/sensors/{id}/readings")).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["complete"], true, "{answer}");
    answer["readings"].as_array().unwrap().clone()
}

/// The measures of a sensor's readings, oldest first.
pub(super) async fn values(hourglass: &Hourglass, sensor: &str) -> Vec<Value> {
    let readings = readings(hourglass, sensor).await;
    let measures = |reading: &Value| reading["measures"].clone();
    readings.iter().map(measures).collect()
}

/// A reading as it is read.
pub(super) fn reading(ts: &str, measures: Value) -> Value {
    json!({ "ts": ts, "measures": measures })
}

/// The ledger of items balances.
pub(super) async fn assert_balanced(hourglass: &Hourglass) {
    let (_, page) = hourglass.get_text("/metrics").await;
    let sum = |name: &str| -> f64 {
        let samples = page.lines().filter_map(|line| line.rsplit_once(' '));
        let named = samples.filter(|(sample, _)| sample.split('{').next() == Some(name));
        named.map(|(_, value)| value.parse::<f64>().unwrap()).sum()
    };
    let went = sum("hourglass_items_accepted_total")
        + sum("hourglass_items_rejected_total")
        + sum("hourglass_items_refused_total");
    assert_eq!(sum("hourglass_items_received_total"), went, "{page}");
    assert_eq!(sum("hourglass_http_body_bytes"), 0.0, "{page}");
}
