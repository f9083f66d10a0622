//! `PUT` and `PATCH /v1/sensors/{id}`.

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use serde_json::Value;

use super::body::{Whole, changed, json, precondition};
use crate::api::params::{Params, SensorPath};
use crate::api::{ApiState, Problem};
use crate::registry::{PutSensor, SensorForm, shown};

pub(super) async fn put(
    State(state): State<ApiState>,
    SensorPath(id): SensorPath,
    uri: Uri,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    Params::read(query.as_deref(), &[])?;
    let condition = precondition(&headers)?;
    let (value, _token) = json(&state, &headers, body, Whole::Record).await?;
    let form = SensorForm::read(&value, Some(&id)).map_err(crate::registry::RegistryError::from)?;
    let put = state.registry.put_sensor(&id, &condition, &form).await?;
    Ok(answer(&put, &uri))
}

pub(super) async fn patch(
    State(state): State<ApiState>,
    SensorPath(id): SensorPath,
    uri: Uri,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    Params::read(query.as_deref(), &[])?;
    let condition = precondition(&headers)?;
    let (patch, _token) = json(&state, &headers, body, Whole::Patch).await?;
    let put = state.registry.patch_sensor(&id, &condition, &patch).await?;
    Ok(answer(&put, &uri))
}

/// What people say of the sensor now. The tags that it sends are on its page.
fn answer(put: &PutSensor, uri: &Uri) -> Response {
    let PutSensor { put, is_new } = put;
    let mut members = shown(&put.details, &put.details.attributes);
    members.insert("sensorId".into(), put.id.as_str().into());
    changed(*is_new, uri, Some(put.target), &Value::Object(members))
}
