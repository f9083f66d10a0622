//! `InfluxDB` 1.x.

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

const NAME: &str = "influxd";

/// The server.
#[derive(Debug)]
pub(super) struct Influx {
    program: PathBuf,
    place: Place,
    load: Load,
    server: HttpServer,
}

impl Influx {
    pub(super) fn new(program: PathBuf, place: Place, load: Load) -> Self {
        Self {
            program,
            place,
            load,
            server: HttpServer::new(NAME),
        }
    }

    /// Starts it with its defaults, but for what reports to others or logs every
    /// request, and for what `more` says.
    async fn start_with(&mut self, more: &[(&'static str, &str)]) -> Result<(), CompareError> {
        let folder = &self.place.folder;
        let (port, rpc) = (free_port()?, free_port()?);
        let at = |name: &str| folder.join("data").join(name).display().to_string();
        let mut variables = vec![
            ("INFLUXDB_DATA_DIR", at("data")),
            ("INFLUXDB_DATA_WAL_DIR", at("wal")),
            ("INFLUXDB_META_DIR", at("meta")),
            ("INFLUXDB_HTTP_BIND_ADDRESS", format!("127.0.0.1:{port}")),
            ("INFLUXDB_BIND_ADDRESS", format!("127.0.0.1:{rpc}")),
            ("INFLUXDB_REPORTING_DISABLED", "true".to_owned()),
            ("INFLUXDB_MONITOR_STORE_ENABLED", "false".to_owned()),
            ("INFLUXDB_HTTP_LOG_ENABLED", "false".to_owned()),
            ("INFLUXDB_DATA_QUERY_LOG_ENABLED", "false".to_owned()),
        ];
        variables.extend(
            more.iter()
                .map(|(name, value)| (*name, (*value).to_owned())),
        );
        let start = Start {
            program: &self.program,
            arguments: ["run", "-config", "/dev/null"],
            variables: &variables,
            folder,
            port,
            ready_path: "/ping",
        };
        self.server.start(start).await?;
        let create = [("q", "CREATE DATABASE bench")];
        self.server.submit("/query", &create).await?;
        Ok(())
    }

    fn statement(&self, question: &Question) -> String {
        let measure = self.load.fleet.measures.first().map_or("", String::as_str);
        let ids = question.ids(&self.load);
        let one_of = ids.iter().map(|id| format!("sensor_id='{id}'"));
        let one_of = one_of.collect::<Vec<_>>().join(" OR ");
        let (from, to) = (question.from, question.to);
        let range = format!("({one_of}) AND time >= {from}u AND time < {to}u");
        match question.kind {
            Kind::Hourly | Kind::HourlyMany => format!(
                "SELECT count({measure}), mean({measure}) FROM readings WHERE {range} \
                 GROUP BY time(1h), sensor_id fill(none)"
            ),
            Kind::Raw => {
                format!("SELECT {measure} FROM readings WHERE {range} GROUP BY sensor_id")
            }
            Kind::Latest if question.is_all => {
                format!("SELECT last({measure}) FROM readings GROUP BY sensor_id")
            }
            Kind::Latest => {
                format!("SELECT last({measure}) FROM readings WHERE {one_of} GROUP BY sensor_id")
            }
        }
    }

    async fn select(&mut self, statement: &str) -> Result<bytes::Bytes, CompareError> {
        let fields = [("db", "bench"), ("epoch", "ms"), ("q", statement)];
        self.server.submit("/query", &fields).await
    }
}

impl Peer for Influx {
    fn form(&self) -> Form {
        Form::Lines
    }

    async fn start(&mut self) -> Result<(), CompareError> {
        self.start_with(&[]).await
    }

    fn usage(&self) -> Result<Vec<(&'static str, Usage)>, CompareError> {
        Ok(vec![self.server.usage()?])
    }

    async fn version(&mut self) -> Result<String, CompareError> {
        let body = self.select("SHOW DIAGNOSTICS FOR 'build'").await?;
        let page: serde_json::Value = serde_json::from_slice(&body)?;
        let build = page.pointer("/results/0/series/0");
        let column = |name: &str| {
            let columns = build?.get("columns")?.as_array()?;
            let place = columns.iter().position(|column| column == name)?;
            build?.pointer("/values/0")?.get(place)?.as_str()
        };
        Ok(format!(
            "influxd {}",
            column("Version").unwrap_or("unknown")
        ))
    }

    async fn write(&mut self, batches: Batches) -> Result<Written, CompareError> {
        let connections = self.place.connections;
        self.server
            .write("/write?db=bench", connections, batches)
            .await
    }

    async fn drain(&mut self) -> Result<(), CompareError> {
        Ok(())
    }

    async fn rest(&mut self) -> Result<Stored, CompareError> {
        self.stop().await?;
        self.start_with(&[
            ("INFLUXDB_DATA_CACHE_SNAPSHOT_WRITE_COLD_DURATION", "1s"),
            ("INFLUXDB_DATA_COMPACT_FULL_WRITE_COLD_DURATION", "1s"),
        ])
        .await?;
        let files = self.place.folder.join("data");
        files_at_rest(&files).await?;
        self.stop().await?;
        Ok(Stored {
            data: allocated(&files.join("data"))?,
            all: allocated(&files)?,
        })
    }

    async fn ask(&mut self, question: &Question, _cached: bool) -> Result<Duration, CompareError> {
        let statement = self.statement(question);
        let begun = Instant::now();
        self.select(&statement).await?;
        Ok(begun.elapsed())
    }

    async fn answer(&mut self, question: &Question) -> Result<Vec<Row>, CompareError> {
        let body = self.select(&self.statement(question)).await?;
        rows(question.kind, &body)
    }

    async fn stop(&mut self) -> Result<(), CompareError> {
        self.server.stop().await
    }
}

#[derive(Deserialize)]
struct Page {
    results: Vec<Outcome>,
}

#[derive(Deserialize)]
struct Outcome {
    #[serde(default)]
    series: Vec<Series>,
    error: Option<String>,
    #[serde(default)]
    partial: bool,
}

#[derive(Deserialize)]
struct Series {
    tags: BTreeMap<String, String>,
    values: Vec<Vec<f64>>,
    #[serde(default)]
    partial: bool,
}

/// The rows of an answer: times in milliseconds, then counts (in hours) and values.
fn rows(kind: Kind, body: &[u8]) -> Result<Vec<Row>, CompareError> {
    let wrong = |what: String| CompareError::Answer { server: NAME, what };
    let page: Page = serde_json::from_slice(body)
        .map_err(|error| wrong(format!("what cannot be read: {error}")))?;
    let mut rows = Vec::new();
    for outcome in page.results {
        if let Some(error) = outcome.error {
            return Err(wrong(error));
        }
        for series in outcome.series {
            if outcome.partial || series.partial {
                return Err(wrong("a part only".to_owned()));
            }
            let sensor = series.tags.get("sensor_id").cloned().unwrap_or_default();
            for value in series.values {
                let (at, count, value) = match (kind, value.as_slice()) {
                    (Kind::Hourly | Kind::HourlyMany, [at, count, mean]) => {
                        (Some(*at), Some(*count as u64), *mean)
                    }
                    (Kind::Raw, [at, value]) => (Some(*at), None, *value),
                    (Kind::Latest, [_, value]) => (None, None, *value),
                    _ => return Err(wrong("other columns than were asked for".to_owned())),
                };
                rows.push(Row {
                    sensor: sensor.clone(),
                    at: at.map(|millis| millis as i64 * 1000),
                    count,
                    value,
                });
            }
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_become_rows() {
        let body = br#"{"results":[{"statement_id":0,"series":[{"name":"readings",
            "tags":{"sensor_id":"S1"},"columns":["time","count","mean"],
            "values":[[1777593600000,60,21.5],[1777597200000,60,22]]}]}]}"#;
        let rows = rows(Kind::Hourly, body).unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[1].at, Some(1_777_597_200_000_000));
        assert_eq!((rows[0].count, rows[0].value), (Some(60), 21.5));
    }

    #[test]
    fn errors_and_parts_of_answers_are_none() {
        let failed = br#"{"results":[{"statement_id":0,"error":"timeout"}]}"#;
        let failed = rows(Kind::Raw, failed).unwrap_err().to_string();
        assert!(failed.contains("timeout"), "{failed}");
        let part = br#"{"results":[{"series":[{"tags":{"sensor_id":"S1"},
            "values":[[1,2.0]],"partial":true}]}]}"#;
        assert!(rows(Kind::Raw, part).is_err());
    }
}
