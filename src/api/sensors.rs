//! `GET /v1/sensors`: which sensors there are, and what is known of them.

use axum::extract::{RawQuery, State};
use axum::response::Response;
use serde::Serialize;
use serde_json::{Map, Value};

use super::answers::{Complete, json};
use super::params::Params;
use super::sensor_body::sensor_body;
use super::sensor_filter::{cursor, cursor_text, sensor_filter};
use super::{ApiState, Problem};

/// Sensors on a page where `limit` does not say.
const LIMIT_DEFAULT: usize = 1000;
/// Sensors on a page at most.
const LIMIT_MAX: usize = 10_000;

#[derive(Serialize)]
struct PageBody {
    sensors: Vec<Map<String, Value>>,
    next: Option<String>,
    #[serde(flatten)]
    complete: Complete,
}

pub(super) async fn get(
    State(state): State<ApiState>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let params = Params::read_any(query.as_deref())?;
    let filter = sensor_filter(&params, state.clock.now())?;
    let limit = params.limit()?.unwrap_or(LIMIT_DEFAULT).min(LIMIT_MAX);
    let after = cursor(&params, &filter)?;
    let answer = state.query.sensors(&filter, after.as_ref(), limit).await?;
    let complete = Complete::from(answer.completeness);
    let body = PageBody {
        next: answer.next.as_ref().map(cursor_text),
        sensors: answer.sensors.iter().map(sensor_body).collect(),
        complete,
    };
    Ok(json(&body, complete))
}
