//! `GET /v1/sensors/{id}/hourly` and `GET /v1/hourly?sensor=…`.

use axum::extract::{RawQuery, State};
use axum::response::Response;
use serde::Serialize;

use super::answers::{Complete, HoursBody, json};
use super::params::{Params, SensorPath};
use super::{ApiState, Problem};
use crate::model::HourRange;

#[derive(Serialize)]
struct OneBody<'a> {
    #[serde(flatten)]
    sensor: HoursBody<'a>,
    #[serde(flatten)]
    complete: Complete,
}

#[derive(Serialize)]
struct ManyBody<'a> {
    sensors: Vec<HoursBody<'a>>,
    #[serde(flatten)]
    complete: Complete,
}

pub(super) async fn get_one(
    State(state): State<ApiState>,
    SensorPath(sensor): SensorPath,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let params = Params::read(query.as_deref(), &["from", "to"])?;
    let hours = params.range(state.clock.now())?.hours();
    let answer = state.query.hourly(&[sensor], hours).await?;
    let complete = Complete::from(answer.completeness);
    let sensor = answer.sensors.first();
    let sensor = sensor.expect("one sensor was asked for, one is answered");
    let body = OneBody {
        sensor: HoursBody::from(sensor),
        complete,
    };
    Ok(json(&body, complete))
}

pub(super) async fn get_many(
    State(state): State<ApiState>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let params = Params::read(query.as_deref(), &["sensor", "from", "to"])?;
    let sensors = params.sensors(state.settings.query.sensors_max)?;
    let hours = hours_of_many(&state, &params)?;
    check_span(&state, sensors.len(), hours)?;
    let answer = state.query.hourly(&sensors, hours).await?;
    let complete = Complete::from(answer.completeness);
    let body = ManyBody {
        sensors: answer.sensors.iter().map(HoursBody::from).collect(),
        complete,
    };
    Ok(json(&body, complete))
}

/// The range of a request for many sensors, which must begin somewhere.
pub(super) fn hours_of_many(state: &ApiState, params: &Params) -> Result<HourRange, Problem> {
    if params.one("from")?.is_none() {
        return Err(Problem::parameter(
            "say `from` when asking for many sensors: ?from=-24h",
        ));
    }
    let now = state.clock.now();
    let mut range = params.range(now)?;
    // Nothing can lie further ahead; an open end does not count.
    let end = now.later_by(state.settings.ingest.max_future);
    range.to = range.to.min(end.saturating_add(1)).max(range.from);
    Ok(range.hours())
}

fn check_span(state: &ApiState, sensors: usize, hours: HourRange) -> Result<(), Problem> {
    let span = i64::from(hours.to.hours()) - i64::from(hours.from.hours());
    let asked = (sensors as u64).saturating_mul(span.max(0).unsigned_abs());
    let hours_max = state.settings.query.hours_max;
    if asked > hours_max {
        return Err(Problem::parameter(format!(
            "{sensors} sensors over {span} hours are {asked} hours, more than {hours_max} \
             (query.hours_max); ask for less at once"
        )));
    }
    Ok(())
}
