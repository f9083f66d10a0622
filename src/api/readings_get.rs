//! `GET /v1/sensors/{id}/readings`: a raw range, streamed.

use std::collections::BTreeSet;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use futures_util::stream::BoxStream;

use super::answers::{Complete, ReadingBody, Values};
use super::content::{AnswerFormat, answer_format};
use super::csv_rows::CsvRows;
use super::params::{Params, SensorPath, instant};
use super::{ApiState, Problem};
use crate::model::{MeasureName, Micros, Order, SensorId, TimeRange};
use crate::query::{Completeness, HourOfReadings, HourlyAnswer, ReadingsQuery};
use crate::store::StoreError;

/// From when on readings are kept, where the range begins before.
pub(super) const RAW_FROM_HEADER: HeaderName = HeaderName::from_static("hourglass-raw-from");

const PARAMETERS: [&str; 7] = [
    "from", "to", "measure", "limit", "order", "cursor", "format",
];

pub(super) async fn get(
    State(state): State<ApiState>,
    SensorPath(sensor): SensorPath,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let params = Params::read(query.as_deref(), &PARAMETERS)?;
    let now = state.clock.now();
    let format = answer_format(params.one("format")?, &headers)?;
    let order = params.order()?;
    let mut range = params.range(now)?;
    // Of the whole range, on each of its pages.
    let raw_from = state.sweep.raw_from(&sensor);
    let raw_from = raw_from.filter(|kept| range.from < *kept);
    if let Some(text) = params.one("cursor")? {
        go_on(&mut range, order, instant("cursor", text, now)?);
    }
    let limit = match (params.limit()?, format) {
        (Some(limit), _) => limit,
        // One JSON document is read whole by most clients; lines are not.
        (None, AnswerFormat::Json) => state.settings.query.limit_default,
        (None, _) => usize::MAX,
    };
    let measures = params.measures()?;
    let answer = state
        .query
        .readings(ReadingsQuery {
            sensor: sensor.clone(),
            range,
            measures: measures.clone(),
            order,
        })
        .await?;
    // After the readings: what they hold then has its column, as measures only
    // ever become more.
    let columns = match format {
        AnswerFormat::Csv if !measures.is_empty() => measures,
        AnswerFormat::Csv => {
            let hours = if answer.completeness == Completeness::StoreAway {
                // Not asked a second time: that takes as long again.
                state
                    .query
                    .hourly_held(std::slice::from_ref(&sensor), range.hours())
            } else {
                let sensors = std::slice::from_ref(&sensor);
                state.query.hourly(sensors, range.hours()).await?
            };
            columns(&hours)
        }
        AnswerFormat::Json | AnswerFormat::NdJson => Vec::new(),
    };
    let complete = Complete::from(answer.completeness);
    let writer = Writer {
        format,
        sensor,
        csv: CsvRows::new(columns),
        complete,
        raw_from,
        left: limit,
        written: 0,
        last: None,
        state: Stage::Head,
    };
    let body = Body::from_stream(writer.stream(answer.hours));
    let headers = [(header::CONTENT_TYPE, format.media_type())];
    let mut response = (headers, body).into_response();
    complete.mark(&mut response);
    let value = raw_from.and_then(|from| HeaderValue::from_str(&from.to_string()).ok());
    if let Some(value) = value {
        response.headers_mut().insert(RAW_FROM_HEADER, value);
    }
    Ok(response)
}

/// Continues behind the reading at `cursor`.
fn go_on(range: &mut TimeRange, order: Order, cursor: Micros) {
    match order {
        Order::Ascending => range.from = range.from.max(cursor.saturating_add(1)),
        Order::Descending => range.to = range.to.min(cursor),
    }
    range.from = range.from.min(range.to);
}

/// The measures that occur in hours, by name: known from the computed fields,
/// without reading any reading twice.
fn columns(answer: &HourlyAnswer) -> Vec<MeasureName> {
    let hours = answer.sensors.iter().flat_map(|sensor| &sensor.hours);
    let names: BTreeSet<&MeasureName> = hours
        .flat_map(|(_, computed)| computed.measures.keys())
        .collect();
    names.into_iter().cloned().collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Head,
    Rows,
    End,
}

/// Writes the answer piece by piece, an hour of readings each.
struct Writer {
    format: AnswerFormat,
    sensor: SensorId,
    csv: CsvRows,
    complete: Complete,
    raw_from: Option<Micros>,
    left: usize,
    written: usize,
    last: Option<Micros>,
    state: Stage,
}

type Hours = BoxStream<'static, Result<HourOfReadings, StoreError>>;

impl Writer {
    fn stream(self, hours: Hours) -> impl futures_util::Stream<Item = Result<Vec<u8>, StoreError>> {
        futures_util::stream::try_unfold((self, hours), |(mut writer, mut hours)| async move {
            match writer.state {
                Stage::End => Ok(None),
                Stage::Head => {
                    writer.state = Stage::Rows;
                    Ok(Some((writer.head(), (writer, hours))))
                }
                Stage::Rows => {
                    let piece = match hours.next().await.transpose() {
                        Ok(Some(hour)) => writer.rows(&hour),
                        Ok(None) => writer.tail(false),
                        Err(error) => {
                            tracing::warn!(%error, "an answer of readings breaks off");
                            // So that what was written goes out before the connection is
                            // cut: else the client sees no answer at all.
                            tokio::task::yield_now().await;
                            return Err(error);
                        }
                    };
                    Ok(Some((piece, (writer, hours))))
                }
            }
        })
    }

    fn head(&self) -> Vec<u8> {
        match self.format {
            AnswerFormat::Json => {
                let id = serde_json::Value::from(self.sensor.as_str());
                format!("{{\"sensorId\":{id},\"readings\":[").into_bytes()
            }
            AnswerFormat::NdJson => Vec::new(),
            AnswerFormat::Csv => self.csv.header(),
        }
    }

    fn rows(&mut self, hour: &HourOfReadings) -> Vec<u8> {
        let mut out = Vec::new();
        for (at, values) in &hour.readings {
            if self.left == 0 {
                // One more there is, so there is a next page.
                out.extend(self.tail(true));
                break;
            }
            self.left -= 1;
            self.row(&mut out, *at, values);
            self.written += 1;
            self.last = Some(*at);
        }
        out
    }

    fn row(&self, out: &mut Vec<u8>, at: Micros, values: &[(MeasureName, f64)]) {
        let is_line = self.format == AnswerFormat::NdJson;
        let body = || ReadingBody {
            sensor_id: is_line.then_some(self.sensor.as_str()),
            ts: at,
            measures: Values(values),
        };
        let encode =
            |body| serde_json::to_vec(&body).expect("readings have text keys and finite numbers");
        match self.format {
            AnswerFormat::Json => {
                if self.written > 0 {
                    out.push(b',');
                }
                out.extend(encode(body()));
            }
            AnswerFormat::NdJson => {
                out.extend(encode(body()));
                out.push(b'\n');
            }
            AnswerFormat::Csv => out.extend(self.csv.reading(at, values)),
        }
    }

    fn tail(&mut self, more: bool) -> Vec<u8> {
        self.state = Stage::End;
        if self.format != AnswerFormat::Json {
            return Vec::new();
        }
        let cursor = self.last.filter(|_| more).map(|at| at.to_string());
        let next = serde_json::Value::from(cursor);
        let complete = serde_json::to_string(&self.complete).expect("a flag and a reason are JSON");
        let raw_from = self.raw_from.map(|from| format!("\"rawFrom\":\"{from}\","));
        let raw_from = raw_from.unwrap_or_default();
        // Both are objects: the second continues the first.
        format!(
            "],\"next\":{next},{raw_from}{}",
            complete.trim_start_matches('{')
        )
        .into_bytes()
    }
}
