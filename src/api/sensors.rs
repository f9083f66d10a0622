//! `GET /v1/sensors`: which sensors there are, when they were last heard of, and
//! their attributes.

use axum::extract::{RawQuery, State};
use axum::response::Response;
use serde::Serialize;

use super::answers::{Complete, Labels, json, text};
use super::params::Params;
use super::{ApiState, Problem};
use crate::model::{Micros, SensorId};

/// Sensors on a page where `limit` does not say.
const LIMIT_DEFAULT: usize = 1000;
/// Sensors on a page at most.
const LIMIT_MAX: usize = 10_000;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SensorBody<'a> {
    sensor_id: &'a str,
    #[serde(serialize_with = "text")]
    last_seen: Micros,
    attributes: Labels<'a>,
}

#[derive(Serialize)]
struct PageBody<'a> {
    sensors: Vec<SensorBody<'a>>,
    next: Option<&'a str>,
    #[serde(flatten)]
    complete: Complete,
}

pub(super) async fn get(
    State(state): State<ApiState>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let params = Params::read(query.as_deref(), &["limit", "cursor"])?;
    let limit = params.limit()?.unwrap_or(LIMIT_DEFAULT).min(LIMIT_MAX);
    let after = params.one("cursor")?.map(SensorId::new).transpose();
    let after = after.map_err(|error| {
        Problem::parameter(format!(
            "`cursor` is what `next` of the page before says: {error}"
        ))
    })?;
    let answer = state.query.sensors(after.as_ref(), limit).await?;
    let complete = Complete::from(answer.completeness);
    let last = answer.sensors.last().filter(|_| answer.more);
    let body = PageBody {
        next: last.map(|seen| seen.sensor.as_str()),
        sensors: answer
            .sensors
            .iter()
            .map(|seen| SensorBody {
                sensor_id: seen.sensor.as_str(),
                last_seen: seen.last_seen,
                attributes: Labels(&seen.attributes),
            })
            .collect(),
        complete,
    };
    Ok(json(&body, complete))
}
