//! `VictoriaMetrics`, one node.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::disk::files_at_rest;
use super::http_server::{HttpServer, Start};
use super::load::{Batches, Form, Load};
use super::peer::{Peer, Place, Stored};
use super::question::{Kind, Question, Row};
use super::server::free_port;
use super::write::Written;
use super::{CompareError, allocated};
use crate::cpu::Usage;

const NAME: &str = "victoria-metrics";
const MILLIS_PER_HOUR: i64 = 3_600_000;

/// The server.
#[derive(Debug)]
pub(super) struct Victoria {
    program: PathBuf,
    place: Place,
    load: Load,
    server: HttpServer,
}

/// A request: path and fields of a form.
type Asked = (&'static str, Vec<(&'static str, String)>);

impl Victoria {
    pub(super) fn new(program: PathBuf, place: Place, load: Load) -> Self {
        Self {
            program,
            place,
            load,
            server: HttpServer::new(NAME),
        }
    }

    async fn submit(&mut self, (path, fields): &Asked) -> Result<bytes::Bytes, CompareError> {
        let fields: Vec<_> = fields.iter().map(|(k, v)| (*k, v.as_str())).collect();
        self.server.submit(path, &fields).await
    }

    /// The request for a question; hours by `function`.
    fn request(&self, question: &Question, function: &str, cached: bool) -> Asked {
        let measure = self.load.fleet.measures.first().map_or("", String::as_str);
        let ids = question.ids(&self.load);
        let series = match ids.as_slice() {
            _ if question.is_all => format!("readings_{measure}"),
            [id] => format!("readings_{measure}{{sensor_id=\"{id}\"}}"),
            ids => format!("readings_{measure}{{sensor_id=~\"{}\"}}", ids.join("|")),
        };
        let (from, to) = (question.from / 1000, question.to / 1000);
        let seconds = |millis: i64| format!("{}.{:03}", millis / 1000, millis % 1000);
        let nocache = if cached { "0" } else { "1" }.to_owned();
        match question.kind {
            // A window of its own ends with its instant and begins behind the one
            // before; hours here begin with theirs. The offset moves them there.
            Kind::Hourly | Kind::HourlyMany => {
                let last = to.div_euclid(MILLIS_PER_HOUR) * MILLIS_PER_HOUR;
                let last = if last < to {
                    last + MILLIS_PER_HOUR
                } else {
                    last
                };
                let fields = vec![
                    ("query", format!("{function}({series}[1h] offset 1ms)")),
                    ("start", seconds(from + MILLIS_PER_HOUR)),
                    ("end", seconds(last)),
                    ("step", "3600s".to_owned()),
                    ("nocache", nocache),
                ];
                ("/api/v1/query_range", fields)
            }
            Kind::Raw => {
                let fields = vec![
                    ("match[]", series),
                    ("start", seconds(from)),
                    ("end", seconds(to - 1)),
                ];
                ("/api/v1/export", fields)
            }
            Kind::Latest => {
                let interval = self.load.fleet.interval / 1000;
                let back = 2 * interval.max(60_000);
                let fields = vec![
                    ("query", format!("last_over_time({series}[{back}ms])")),
                    ("time", seconds(to)),
                    ("nocache", nocache),
                ];
                ("/api/v1/query", fields)
            }
        }
    }
}

impl Peer for Victoria {
    fn form(&self) -> Form {
        Form::Lines
    }

    async fn start(&mut self) -> Result<(), CompareError> {
        let (folder, port) = (&self.place.folder, free_port()?);
        let arguments = [
            format!("-storageDataPath={}", folder.join("data").display()),
            format!("-httpListenAddr=127.0.0.1:{port}"),
            // Its default drops what is older than a month.
            "-retentionPeriod=100y".to_owned(),
        ];
        let start = Start {
            program: &self.program,
            arguments,
            variables: &[],
            folder,
            port,
            ready_path: "/health",
        };
        self.server.start(start).await
    }

    fn usage(&self) -> Result<Vec<(&'static str, Usage)>, CompareError> {
        Ok(vec![self.server.usage()?])
    }

    async fn version(&mut self) -> Result<String, CompareError> {
        let answer = self.server.get("/metrics", "*/*").await?;
        let page = String::from_utf8_lossy(&answer.body);
        let version = page
            .lines()
            .find(|line| line.starts_with("vm_app_version{"))
            .and_then(|line| line.split('"').nth(1))
            .filter(|version| !version.is_empty());
        Ok(format!("{NAME} {}", version.unwrap_or("unknown")))
    }

    async fn write(&mut self, batches: Batches) -> Result<Written, CompareError> {
        let connections = self.place.connections;
        self.server.write("/write", connections, batches).await
    }

    async fn drain(&mut self) -> Result<(), CompareError> {
        Ok(())
    }

    async fn rest(&mut self) -> Result<Stored, CompareError> {
        self.server.get("/internal/force_flush", "*/*").await?;
        self.server.get("/internal/force_merge", "*/*").await?;
        let files = self.place.folder.join("data");
        files_at_rest(&files).await?;
        self.stop().await?;
        Ok(Stored {
            data: allocated(&files.join("data"))? + allocated(&files.join("indexdb"))?,
            all: allocated(&files)?,
        })
    }

    async fn ask(&mut self, question: &Question, cached: bool) -> Result<Duration, CompareError> {
        let asked = self.request(question, "avg_over_time", cached);
        let begun = Instant::now();
        self.submit(&asked).await?;
        Ok(begun.elapsed())
    }

    async fn answer(&mut self, question: &Question) -> Result<Vec<Row>, CompareError> {
        let asked = self.request(question, "avg_over_time", false);
        let mut rows = rows(question.kind, &self.submit(&asked).await?)?;
        if matches!(question.kind, Kind::Hourly | Kind::HourlyMany) {
            let asked = self.request(question, "count_over_time", false);
            let counts = self::rows(question.kind, &self.submit(&asked).await?)?;
            let counts: BTreeMap<_, _> = counts
                .into_iter()
                .map(|row| ((row.sensor, row.at), row.value as u64))
                .collect();
            for row in &mut rows {
                row.count = counts.get(&(row.sensor.clone(), row.at)).copied();
            }
        }
        Ok(rows)
    }

    fn keeps_answers(&self) -> bool {
        true
    }

    async fn stop(&mut self) -> Result<(), CompareError> {
        self.server.stop().await
    }
}

#[derive(Deserialize)]
struct Page {
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    result: Vec<Found>,
}

#[derive(Deserialize)]
struct Found {
    metric: BTreeMap<String, String>,
    /// Of a range.
    #[serde(default)]
    values: Vec<(f64, String)>,
    /// Of an instant.
    value: Option<(f64, String)>,
}

#[derive(Deserialize)]
struct Exported {
    metric: BTreeMap<String, String>,
    values: Vec<f64>,
    timestamps: Vec<i64>,
}

/// The rows of an answer; those of hours without counts.
fn rows(kind: Kind, body: &[u8]) -> Result<Vec<Row>, CompareError> {
    let wrong = |what: &dyn std::fmt::Display| CompareError::Answer {
        server: NAME,
        what: format!("what cannot be read: {what}"),
    };
    let sensor = |metric: &BTreeMap<String, String>| {
        let id = metric.get("sensor_id");
        id.cloned().unwrap_or_default()
    };
    let mut rows = Vec::new();
    if kind == Kind::Raw {
        // A series may come in several lines.
        for line in serde_json::Deserializer::from_slice(body).into_iter::<Exported>() {
            let line = line.map_err(|error| wrong(&error))?;
            let values = line.timestamps.iter().zip(&line.values);
            rows.extend(values.map(|(at, value)| Row {
                sensor: sensor(&line.metric),
                at: Some(at * 1000),
                count: None,
                value: *value,
            }));
        }
        return Ok(rows);
    }
    let page: Page = serde_json::from_slice(body).map_err(|error| wrong(&error))?;
    for found in page.data.result {
        for (at, value) in found.values.iter().chain(&found.value) {
            let hour = *at as i64 * 1000 - MILLIS_PER_HOUR;
            rows.push(Row {
                sensor: sensor(&found.metric),
                at: (kind != Kind::Latest).then_some(hour * 1000),
                count: None,
                value: value.parse().map_err(|error| wrong(&error))?,
            });
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_becomes_hours_by_their_start() {
        let body = br#"{"status":"success","data":{"resultType":"matrix","result":[{"metric":
            {"sensor_id":"S1"},"values":[[1777597200,"21.5"],[1777600800,"22"]]}]}}"#;
        let rows = rows(Kind::Hourly, body).unwrap();
        assert_eq!(rows[0].at, Some(1_777_593_600_000_000));
        assert_eq!((rows.len(), rows[1].value), (2, 22.0));
    }

    #[test]
    fn instants_and_exports_become_rows() {
        let body = br#"{"status":"success","data":{"resultType":"vector","result":[{"metric":
            {"sensor_id":"S1"},"value":[1777597200,"21.5"]}]}}"#;
        let latest = rows(Kind::Latest, body).unwrap();
        assert_eq!((latest[0].at, latest[0].value), (None, 21.5));
        let body = br#"{"metric":{"__name__":"readings_temp","sensor_id":"S1"},"values":[1,2],
            "timestamps":[1777593600000,1777593601000]}"#;
        let raw = rows(Kind::Raw, body).unwrap();
        assert_eq!(raw[1].at, Some(1_777_593_601_000_000));
    }
}
