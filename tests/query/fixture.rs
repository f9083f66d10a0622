//! A service that holds readings in the store and in the buffer.

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::eventually::eventually;
use crate::support::hourglass::{Hourglass, Start};

/// 2026-05-01T10:00:00Z, in seconds.
pub(super) const OLD: i64 = 1_777_629_600;

/// A running service and the instants of `S1` that it holds, oldest first.
pub(super) struct Site {
    pub(super) hourglass: Hourglass,
    pub(super) instants: Vec<String>,
    _dir: TempDir,
}

/// An instant as answers write it.
pub(super) fn rfc3339(micros: i64) -> String {
    jiff::Timestamp::from_microsecond(micros)
        .unwrap()
        .to_string()
}

/// The start of an hour that is not closed for two days, in seconds.
pub(super) fn open_hour() -> i64 {
    (jiff::Timestamp::now().as_second() / 3600 + 48) * 3600
}

/// A service whose open hours are not flushed before a day is over.
pub(super) fn quiet(dir: &TempDir) -> Start {
    Start::on(dir.path())
        .set("INGEST__MAX_FUTURE", "72h")
        .set("FLUSH__AGE_MAX", "24h")
}

/// Waits until as many values are stored, and checks that as many are not.
pub(super) async fn until_stored(hourglass: &Hourglass, stored: usize, pending: usize) {
    eventually("the old hours are stored", async || {
        let now = hourglass.metric("hourglass_values_stored_total").await;
        (now == stored as f64).then_some(())
    })
    .await;
    let left = hourglass.metric("hourglass_values_pending").await;
    assert_eq!(left, pending as f64);
}

/// Posts readings that must be accepted.
pub(super) async fn post(hourglass: &Hourglass, batch: &Value) {
    let (status, answer) = hourglass.post(batch).await;
    assert_eq!(status, 202, "{answer}");
    assert_eq!(answer["rejected"], 0, "{answer}");
}

impl Site {
    /// Three hours of `S1` in the store and two in the buffer, seven readings
    /// each: `temp` in all, `humidity` in every other one.
    pub(super) async fn start() -> Self {
        let dir = TempDir::new().unwrap();
        let hourglass = quiet(&dir).start();
        let open = open_hour();
        let hours = [OLD, OLD + 3600, OLD + 7200, open, open + 3600];
        // To the microsecond, the edges of an hour included.
        let offsets = [
            0,
            1,
            999_999,
            1_000_000,
            61_000_000,
            1_800_000_500,
            3_599_999_999,
        ];
        let mut batch = Vec::new();
        let mut instants = Vec::new();
        for start in hours {
            for offset in offsets {
                let at = start * 1_000_000 + offset;
                let n = instants.len();
                instants.push(rfc3339(at));
                let mut item = json!({ "sensorId": "S1", "ts": at, "temp": n as f64 / 8.0 });
                if n.is_multiple_of(2) {
                    item["humidity"] = n.into();
                }
                batch.push(item);
            }
        }
        // The newest first: order of arrival is not order of time.
        batch.reverse();
        post(&hourglass, &batch.into()).await;
        let values = |readings: std::ops::Range<usize>| {
            readings.len() + readings.filter(|n| n % 2 == 0).count()
        };
        until_stored(&hourglass, values(0..21), values(21..35)).await;
        Self {
            hourglass,
            instants,
            _dir: dir,
        }
    }

    /// A JSON answer of `S1`'s readings, which must be complete.
    pub(super) async fn readings(&self, query: &str) -> Value {
        let path = format!("/v1/sensors/S1/readings{query}");
        let (status, answer) = self.hourglass.get(&path).await;
        assert_eq!(status, 200, "{query}: {answer}");
        assert_eq!(answer["complete"], true, "{query}: {answer}");
        answer
    }

    /// The instants of such an answer.
    pub(super) async fn instants(&self, query: &str) -> Vec<String> {
        let answer = self.readings(query).await;
        let list = answer["readings"].as_array().unwrap();
        let ts = |reading: &Value| reading["ts"].as_str().unwrap().to_owned();
        list.iter().map(ts).collect()
    }
}
