//! `PUT` and `PATCH /v1/sensors/{id}`.

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::Value;

use super::body::{Whole, json, precondition, record, status_of};
use crate::api::params::{Params, SensorPath};
use crate::api::{ApiState, Problem};
use crate::registry::{PutSensor, SensorForm, shown};

pub(super) async fn put(
    State(state): State<ApiState>,
    SensorPath(id): SensorPath,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    Params::read(query.as_deref(), &[])?;
    let condition = precondition(&headers)?;
    let (value, _token) = json(&state, &headers, body, Whole::Record).await?;
    let form = SensorForm::read(&value, Some(&id)).map_err(crate::registry::RegistryError::from)?;
    let put = state.registry.put_sensor(&id, &condition, &form).await?;
    Ok(answer(&state, &put))
}

pub(super) async fn patch(
    State(state): State<ApiState>,
    SensorPath(id): SensorPath,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    Params::read(query.as_deref(), &[])?;
    let condition = precondition(&headers)?;
    let (patch, _token) = json(&state, &headers, body, Whole::Patch).await?;
    let put = state.registry.patch_sensor(&id, &condition, &patch).await?;
    Ok(answer(&state, &put))
}

/// What people say of the sensor now. The tags that it sends are on its page.
fn answer(state: &ApiState, put: &PutSensor) -> Response {
    let PutSensor { put, is_new } = put;
    // What it still sends may have been hidden or removed.
    state.buffer.retell(&put.id);
    let mut members = shown(&put.details, &put.details.attributes);
    members.insert("sensorId".into(), put.id.as_str().into());
    record(
        status_of(*is_new),
        Some(put.target),
        &Value::Object(members),
    )
}
