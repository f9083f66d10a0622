//! The answer of `POST /v1/readings?dry_run=true`: how a body would be read.

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

use super::body::receive;
use super::readings_post::body_of;
use super::{ApiState, Problem};
use crate::ingest::{Intake, Preview, PreviewedReading};

/// Reads a body and takes nothing of it; nothing is counted.
pub(super) async fn post(
    state: &ApiState,
    headers: &HeaderMap,
    body: Body,
    how: Intake,
) -> Result<Response, Problem> {
    let Some(token) = state.phase.enter() else {
        return Err(Problem::unavailable("stopping", "hourglass is stopping"));
    };
    let bytes_max = state.settings.server.body_bytes_max;
    let body = receive(state, headers, body, bytes_max).await?;
    let preview = state.ingest.preview(body, how).await?;
    drop(token);
    Ok(answer(&preview))
}

fn answer(preview: &Preview) -> Response {
    let mut body = body_of(&preview.outcome);
    body["dryRun"] = true.into();
    body["textFieldsSkipped"] = preview.text_fields_skipped.into();
    body["readings"] = preview.readings.iter().map(reading).collect();
    let headers = [(header::CONTENT_TYPE, "application/json")];
    (StatusCode::OK, headers, body.to_string()).into_response()
}

fn reading(reading: &PreviewedReading) -> Value {
    let values = reading.values.iter();
    let measures: Map<String, Value> = values
        .map(|(name, value)| (name.as_str().to_owned(), (*value).into()))
        .collect();
    let mut body = json!({
        "sensorId": reading.sensor.as_str(),
        "ts": reading.at.to_string(),
        "stamped": reading.is_stamped,
        "measures": measures,
    });
    if let Some(index) = reading.index {
        body["index"] = index.into();
    }
    if let Some(origin) = &reading.origin {
        let tags = origin.tags();
        let attributes: Map<String, Value> = tags
            .map(|(key, value)| (key.to_owned(), value.into()))
            .collect();
        body["measurement"] = origin.measurement().into();
        body["attributes"] = attributes.into();
    }
    body
}
