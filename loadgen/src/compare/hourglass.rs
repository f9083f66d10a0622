//! hourglass, with its embedded store or in front of a mongod.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde::Deserialize;

use super::http_server::{HttpServer, Start};
use super::load::{Batches, Form, Load};
use super::mongod::Mongod;
use super::peer::{Peer, Place, Stored};
use super::question::{Kind, Question, Row};
use super::server::free_port;
use super::write::Written;
use super::{CompareError, allocated};
use crate::check::ReadingLine;
use crate::cpu::Usage;
use crate::exposition::Exposition;
use crate::fleet::rfc3339;
use crate::http::Answer;

const NAME: &str = "hourglass";
/// Between two looks at its metrics.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
const DRAIN_MAX: Duration = Duration::from_secs(600);
/// Database in a mongod.
const DATABASE: &str = "hourglass";

/// The service, and the mongod it may need.
#[derive(Debug)]
pub(super) struct Hourglass {
    program: PathBuf,
    place: Place,
    load: Load,
    mongod: Option<Mongod>,
    server: HttpServer,
}

impl Hourglass {
    pub(super) fn new(program: PathBuf, place: Place, load: Load, mongod: Option<Mongod>) -> Self {
        Self {
            program,
            place,
            load,
            mongod,
            server: HttpServer::new(NAME),
        }
    }

    async fn get(&mut self, path: &str) -> Result<Answer, CompareError> {
        self.server.get(path, "application/json").await
    }

    fn path(&self, question: &Question) -> String {
        let ids = question.ids(&self.load);
        let first = ids.first().map_or("", String::as_str);
        let named = || {
            let names = ids.iter().map(|id| format!("sensor={id}"));
            names.collect::<Vec<_>>().join("&")
        };
        let (from, to) = (rfc3339(question.from), rfc3339(question.to));
        match question.kind {
            Kind::Hourly => format!("/v1/sensors/{first}/hourly?from={from}&to={to}"),
            Kind::Raw => format!("/v1/sensors/{first}/readings?from={from}&to={to}&format=ndjson"),
            Kind::HourlyMany => format!("/v1/hourly?{}&from={from}&to={to}", named()),
            Kind::Latest => format!("/v1/latest?{}", named()),
        }
    }

    async fn pending(&mut self) -> Result<f64, CompareError> {
        let answer = self.get("/metrics").await?;
        let page = String::from_utf8_lossy(&answer.body);
        let unread = |error: &dyn std::fmt::Display| CompareError::Answer {
            server: NAME,
            what: format!("metrics that cannot be read: {error}"),
        };
        let page = Exposition::parse(&page).map_err(|error| unread(&error))?;
        let of = |name: &str| page.total(name).ok_or_else(|| unread(&name));
        Ok(of("hourglass_values_pending")? + of("hourglass_applier_lag_records")?)
    }
}

impl Peer for Hourglass {
    fn form(&self) -> Form {
        Form::Lines
    }

    async fn start(&mut self) -> Result<(), CompareError> {
        let store = match &mut self.mongod {
            Some(mongod) => {
                mongod.start().await?;
                mongod.uri(DATABASE)
            }
            None => "embedded".to_owned(),
        };
        let port = free_port()?;
        let folder = &self.place.folder;
        let variables = [
            ("HOURGLASS__SERVER__LISTEN", format!("127.0.0.1:{port}")),
            (
                "HOURGLASS__DATA__DIR",
                folder.join("data").display().to_string(),
            ),
            ("HOURGLASS__STORE__URL", store),
        ];
        let start = Start {
            program: &self.program,
            arguments: ["serve"],
            variables: &variables,
            folder,
            port,
            ready_path: "/readyz",
        };
        self.server.start(start).await
    }

    fn usage(&self) -> Result<Vec<(&'static str, Usage)>, CompareError> {
        let mut usages = vec![self.server.usage()?];
        if let Some(mongod) = &self.mongod {
            usages.push(mongod.usage()?);
        }
        Ok(usages)
    }

    async fn version(&mut self) -> Result<String, CompareError> {
        let answer = self.get("/openapi.json").await?;
        let page: serde_json::Value = serde_json::from_slice(&answer.body)?;
        let version = page.pointer("/info/version").and_then(|v| v.as_str());
        let own = format!("hourglass {}", version.unwrap_or("unknown"));
        match &mut self.mongod {
            Some(mongod) => Ok(format!("{own}, {}", mongod.version().await?)),
            None => Ok(own),
        }
    }

    async fn write(&mut self, batches: Batches) -> Result<Written, CompareError> {
        let connections = self.place.connections;
        self.server
            .write("/v1/readings", connections, batches)
            .await
    }

    async fn drain(&mut self) -> Result<(), CompareError> {
        let begun = Instant::now();
        while self.pending().await? > 0.0 {
            if begun.elapsed() > DRAIN_MAX {
                return Err(CompareError::Answer {
                    server: NAME,
                    what: "that readings are still pending after 10 minutes".to_owned(),
                });
            }
            // Another process: there is no event to wait for.
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        Ok(())
    }

    async fn rest(&mut self) -> Result<Stored, CompareError> {
        self.stop().await?;
        // A start empties what the store's library keeps in its own journal.
        self.start().await?;
        let in_mongod = match &mut self.mongod {
            Some(mongod) => Some(mongod.stored(DATABASE).await?),
            None => None,
        };
        self.stop().await?;
        let data = self.place.folder.join("data");
        let own = allocated(&data)?;
        Ok(match (in_mongod, &self.mongod) {
            (Some(stored), Some(mongod)) => Stored {
                data: stored,
                all: own + mongod.files()?,
            },
            _ => Stored {
                data: allocated(&data.join("store"))?,
                all: own,
            },
        })
    }

    async fn ask(&mut self, question: &Question, _cached: bool) -> Result<Duration, CompareError> {
        let path = self.path(question);
        let begun = Instant::now();
        self.get(&path).await?;
        Ok(begun.elapsed())
    }

    async fn answer(&mut self, question: &Question) -> Result<Vec<Row>, CompareError> {
        let answer = self.get(&self.path(question)).await?;
        let measure = self.load.fleet.measures.first().map_or("", String::as_str);
        Ok(rows(question.kind, &answer.body, measure)?)
    }

    async fn stop(&mut self) -> Result<(), CompareError> {
        self.server.stop().await?;
        match &mut self.mongod {
            Some(mongod) => mongod.stop().await,
            None => Ok(()),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Hours {
    sensor_id: String,
    hours: Vec<Hour>,
}

#[derive(Deserialize)]
struct Hour {
    hour: Timestamp,
    measures: BTreeMap<String, Stats>,
}

#[derive(Deserialize)]
struct Stats {
    count: u64,
    avg: f64,
}

#[derive(Deserialize)]
struct OfMany<T> {
    sensors: Vec<T>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Newest {
    sensor_id: String,
    latest: Option<Values>,
}

#[derive(Deserialize)]
struct Values {
    measures: BTreeMap<String, f64>,
}

/// The rows of an answer for one measure.
fn rows(kind: Kind, body: &[u8], measure: &str) -> Result<Vec<Row>, serde_json::Error> {
    let of_hours = |of: Hours| {
        let row = |hour: &Hour| {
            let stats = hour.measures.get(measure)?;
            Some(Row {
                sensor: of.sensor_id.clone(),
                at: Some(hour.hour.as_microsecond()),
                count: Some(stats.count),
                value: stats.avg,
            })
        };
        of.hours.iter().filter_map(row).collect::<Vec<Row>>()
    };
    Ok(match kind {
        Kind::Hourly => of_hours(serde_json::from_slice(body)?),
        Kind::HourlyMany => {
            let many: OfMany<Hours> = serde_json::from_slice(body)?;
            many.sensors.into_iter().flat_map(of_hours).collect()
        }
        Kind::Raw => {
            let lines = serde_json::Deserializer::from_slice(body).into_iter::<ReadingLine>();
            let row = |line: ReadingLine| {
                Some(Row {
                    value: *line.measures.get(measure)?,
                    sensor: line.sensor_id,
                    at: Some(line.ts.as_microsecond()),
                    count: None,
                })
            };
            let rows = lines.filter_map(|line| line.map(row).transpose());
            rows.collect::<Result<_, _>>()?
        }
        Kind::Latest => {
            let many: OfMany<Newest> = serde_json::from_slice(body)?;
            let row = |newest: Newest| {
                Some(Row {
                    value: *newest.latest?.measures.get(measure)?,
                    sensor: newest.sensor_id,
                    at: None,
                    count: None,
                })
            };
            many.sensors.into_iter().filter_map(row).collect()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_become_rows() {
        let hours = r#"{"sensorId":"S1","hours":[{"hour":"2026-05-01T01:00:00Z","count":2,
            "measures":{"temp":{"count":2,"sum":3.0,"avg":1.5,"min":1,"max":2}}}],
            "complete":true}"#;
        let row = Row {
            sensor: "S1".to_owned(),
            at: Some(1_777_597_200_000_000),
            count: Some(2),
            value: 1.5,
        };
        let one = rows(Kind::Hourly, hours.as_bytes(), "temp").unwrap();
        assert_eq!(one, vec![row]);
        let many = format!(r#"{{"sensors":[{hours},{hours}],"complete":true}}"#);
        let many = rows(Kind::HourlyMany, many.as_bytes(), "temp").unwrap();
        assert_eq!(many.len(), 2);
        let raw = r#"{"sensorId":"S1","ts":"2026-05-01T01:00:00Z","measures":{"temp":1.5}}
            {"sensorId":"S1","ts":"2026-05-01T01:00:01Z","measures":{"humidity":40}}"#;
        let raw = rows(Kind::Raw, raw.as_bytes(), "temp").unwrap();
        assert_eq!((raw.len(), raw[0].value), (1, 1.5));
        let newest = r#"{"sensors":[{"sensorId":"S1","latest":null},{"sensorId":"S2",
            "latest":{"ts":"2026-05-01T01:00:00Z","measures":{"temp":7}}}],"complete":true}"#;
        let newest = rows(Kind::Latest, newest.as_bytes(), "temp").unwrap();
        assert_eq!((newest.len(), newest[0].sensor.as_str()), (1, "S2"));
    }
}
