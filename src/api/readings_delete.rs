//! `DELETE /v1/sensors/{id}/readings`.

use axum::extract::{RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::params::{Params, SensorPath};
use super::{ApiState, Problem};

pub(super) async fn delete(
    State(state): State<ApiState>,
    SensorPath(sensor): SensorPath,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let params = Params::read(query.as_deref(), &["from", "to"])?;
    for end in ["from", "to"] {
        // Everything is deleted by saying so, not by leaving something out.
        if params.one(end)?.is_none() {
            return Err(Problem::parameter(format!(
                "`{end}` is missing: say both ends of what is to be deleted"
            )));
        }
    }
    let now = state.clock.now();
    let range = params.range(now)?;
    let token = state.phase.enter();
    let _token = token.ok_or_else(|| Problem::unavailable("stopping", "hourglass is stopping"))?;
    let deletions = state.deletions.clone();
    // Apart, so that a client that hangs up leaves no half-asked deletion.
    let asked = tokio::spawn(async move { deletions.delete(sensor, range, now).await });
    let report = asked
        .await
        .map_err(|_| Problem::unavailable("stopping", "hourglass is stopping"))??;
    let (status, body) = match report {
        Some(report) => (
            StatusCode::OK,
            json!({
                "state": "done",
                "deleted": { "readings": report.readings, "buckets": report.buckets },
                "hoursLeft": report.hours_left,
            }),
        ),
        None => (StatusCode::ACCEPTED, json!({ "state": "pending" })),
    };
    let headers = [(header::CONTENT_TYPE, "application/json")];
    Ok((status, headers, body.to_string()).into_response())
}
