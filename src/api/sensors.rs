//! `GET /v1/sensors` and `GET /v1/sensors/{id}`: which sensors there are, and what
//! is known of them.

use axum::extract::{RawQuery, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde_json::{Map, Value, json};

use super::answers::{Complete, json as answer};
use super::params::{Params, SensorPath};
use super::sensor_filter::{cursor, cursor_text, sensor_filter};
use super::{ApiState, Problem};
use crate::model::RecentReading;
use crate::registry::{entity_tag, shown};
use crate::store::StoredSensor;

/// Sensors on a page where `limit` does not say.
const LIMIT_DEFAULT: usize = 1000;
/// Sensors on a page at most.
const LIMIT_MAX: usize = 10_000;

pub(super) async fn list(
    State(state): State<ApiState>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let params = Params::read_any(query.as_deref())?;
    let filter = sensor_filter(&params, state.clock.now())?;
    let limit = params.limit()?.unwrap_or(LIMIT_DEFAULT).min(LIMIT_MAX);
    let after = cursor(&params, &filter)?;
    let found = state.query.sensors(&filter, after.as_ref(), limit).await?;
    let complete = Complete::from(found.completeness);
    let sensors: Vec<Value> = found
        .sensors
        .iter()
        .map(|stored| Value::Object(members(stored)))
        .collect();
    let mut body = json!({
        "sensors": sensors,
        "next": found.next.as_ref().map(cursor_text),
    });
    complete.put(&mut body);
    Ok(answer(&body, complete))
}

pub(super) async fn get(
    State(state): State<ApiState>,
    SensorPath(id): SensorPath,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    Params::read(query.as_deref(), &[])?;
    let found = state.query.sensor(&id).await?;
    let complete = Complete::from(found.completeness);
    let Some(stored) = found.sensor else {
        return Err(match complete.is_complete() {
            true => Problem::new(
                StatusCode::NOT_FOUND,
                "unknown_sensor",
                format!(
                    "there is no sensor `{id}`: nothing was received from it, nor was it set up"
                ),
            ),
            false => Problem::unavailable(
                "store_unavailable",
                format!("whether there is a sensor `{id}` cannot be said now"),
            ),
        });
    };
    let mut members = members(&stored);
    let recent = stored.recent.readings.iter().map(reading);
    members.insert("recent".into(), recent.collect::<Vec<_>>().into());
    if let Some(before) = stored.raw_dropped_before {
        members.insert("rawFrom".into(), before.start().to_string().into());
    }
    let mut body = Value::Object(members);
    complete.put(&mut body);
    let mut response = answer(&body, complete);
    let tag = HeaderValue::from_str(&entity_tag(stored.version));
    response
        .headers_mut()
        .insert(header::ETAG, tag.expect("a tag is digits in quotes"));
    Ok(response)
}

/// What lists and pages show of a sensor.
fn members(stored: &StoredSensor) -> Map<String, Value> {
    let mut members = shown(&stored.details, &stored.attributes);
    members.insert("sensorId".into(), stored.id.as_str().into());
    let last_seen = stored.last_seen.map(|seen| seen.to_string());
    members.insert("lastSeen".into(), last_seen.into());
    members
}

fn reading(reading: &RecentReading) -> Value {
    let values = reading.values.iter();
    let measures: Map<String, Value> = values
        .map(|(name, value)| (name.as_str().to_owned(), (*value).into()))
        .collect();
    json!({ "ts": reading.at.to_string(), "measures": measures })
}
