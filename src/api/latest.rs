//! `GET /v1/sensors/{id}/latest` and `GET /v1/latest?sensor=…`.

use axum::extract::{RawQuery, State};
use axum::response::Response;
use serde::Serialize;

use super::answers::{Complete, LatestBody, json};
use super::params::{Params, SensorPath};
use super::{ApiState, Problem};

#[derive(Serialize)]
struct OneBody<'a> {
    #[serde(flatten)]
    sensor: LatestBody<'a>,
    #[serde(flatten)]
    complete: Complete,
}

#[derive(Serialize)]
struct ManyBody<'a> {
    sensors: Vec<LatestBody<'a>>,
    #[serde(flatten)]
    complete: Complete,
}

pub(super) async fn get_one(
    State(state): State<ApiState>,
    SensorPath(sensor): SensorPath,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    Params::read(query.as_deref(), &[])?;
    let answer = state.query.latest(&[sensor]).await?;
    let complete = Complete::from(answer.completeness);
    let (sensor, latest) = answer
        .sensors
        .first()
        .expect("one sensor was asked for, one is answered");
    let body = OneBody {
        sensor: LatestBody::new(sensor, latest.as_ref()),
        complete,
    };
    Ok(json(&body, complete))
}

pub(super) async fn get_many(
    State(state): State<ApiState>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let params = Params::read(query.as_deref(), &["sensor"])?;
    let sensors = params.sensors(state.settings.query.sensors_max)?;
    let answer = state.query.latest(&sensors).await?;
    let complete = Complete::from(answer.completeness);
    let sensors = answer.sensors.iter();
    let body = ManyBody {
        sensors: sensors
            .map(|(sensor, latest)| LatestBody::new(sensor, latest.as_ref()))
            .collect(),
        complete,
    };
    Ok(json(&body, complete))
}
