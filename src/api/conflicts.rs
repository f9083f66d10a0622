//! `GET /v1/conflicts` and `GET /v1/sensors/{id}/conflicts`: the newest refused
//! values, for inspection.

use axum::extract::{RawQuery, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::answers::{Labels, text};
use super::params::{Params, SensorPath};
use super::{ApiState, Problem};
use crate::buffer::ConflictRecord;
use crate::model::{Micros, Origin};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ConflictBody<'a> {
    sensor_id: &'a str,
    #[serde(serialize_with = "text")]
    ts: Micros,
    measure: &'a str,
    kept: f64,
    refused: f64,
    #[serde(serialize_with = "text")]
    received_at: Micros,
    #[serde(skip_serializing_if = "Option::is_none")]
    kept_from: Option<OriginBody<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused_from: Option<OriginBody<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// Under which measurement and tags a value came.
#[derive(Serialize)]
struct OriginBody<'a> {
    measurement: &'a str,
    tags: Labels<'a>,
}

impl<'a> OriginBody<'a> {
    fn new(origin: &'a Origin) -> Self {
        Self {
            measurement: origin.measurement(),
            tags: Labels(origin.tag_set()),
        }
    }
}

impl<'a> From<&'a ConflictRecord> for ConflictBody<'a> {
    fn from(record: &'a ConflictRecord) -> Self {
        Self {
            sensor_id: record.sensor.as_str(),
            ts: record.at,
            measure: record.measure.as_str(),
            kept: record.kept,
            refused: record.refused,
            received_at: record.received_at,
            kept_from: record.kept_from.as_deref().map(OriginBody::new),
            refused_from: record.refused_from.as_deref().map(OriginBody::new),
            hint: record.hint(),
        }
    }
}

#[derive(Serialize)]
struct ConflictsBody<'a> {
    conflicts: Vec<ConflictBody<'a>>,
}

pub(super) async fn get_many(
    State(state): State<ApiState>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    Params::read(query.as_deref(), &[])?;
    Ok(answer(state.buffer.conflicts(None, state.clock.now())))
}

pub(super) async fn get_one(
    State(state): State<ApiState>,
    SensorPath(sensor): SensorPath,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let params = Params::read(query.as_deref(), &["limit"])?;
    let limit = params.limit()?.unwrap_or(usize::MAX);
    let mut records = state.buffer.conflicts(Some(&sensor), state.clock.now());
    records.truncate(limit);
    Ok(answer(records))
}

fn answer(records: Vec<ConflictRecord>) -> Response {
    let body = ConflictsBody {
        conflicts: records.iter().map(ConflictBody::from).collect(),
    };
    let text = serde_json::to_vec(&body).expect("conflicts hold texts and finite numbers");
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}
