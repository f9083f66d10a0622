//! `PUT /v1/sensors`: a whole fleet.

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

use super::body::{enter, media_type};
use crate::api::body::receive;
use crate::api::params::Params;
use crate::api::{ApiState, Problem};
use crate::registry::{BulkOutcome, ListRejection, SensorList};

pub(super) async fn put(
    State(state): State<ApiState>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    Params::read(query.as_deref(), &[])?;
    let given = media_type(&headers);
    let read = match given.as_str() {
        "application/x-ndjson" | "application/ndjson" | "application/jsonl" => SensorList::ndjson,
        "text/csv" => SensorList::csv,
        _ => {
            return Err(Problem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unsupported_media_type",
                format!(
                    "the content type `{given}` is not taken here; send application/x-ndjson or \
                     text/csv, a line for each sensor"
                ),
            ));
        }
    };
    let _token = enter(&state)?;
    let bytes_max = state.settings.server.body_bytes_max;
    let bytes = receive(&state, &headers, body, bytes_max).await?;
    let outcome = state.registry.put_list(read(bytes)?).await?;
    Ok(answer(&outcome))
}

/// 200 when something was put, else 422.
fn answer(outcome: &BulkOutcome) -> Response {
    let status = match outcome.created + outcome.updated {
        0 => StatusCode::UNPROCESSABLE_ENTITY,
        _ => StatusCode::OK,
    };
    let body = json!({
        "created": outcome.created,
        "updated": outcome.updated,
        "rejected": outcome.rejected,
        "errors": outcome.listed.iter().map(error).collect::<Vec<_>>(),
        "rejectedByCode": outcome.rejected_by_code,
    });
    let headers = [(header::CONTENT_TYPE, "application/json")];
    (status, headers, body.to_string()).into_response()
}

fn error(rejection: &ListRejection) -> Value {
    let mut error = Map::new();
    error.insert("index".into(), rejection.place.index.into());
    error.insert("line".into(), rejection.place.line.into());
    if let Some(field) = &rejection.field {
        error.insert("field".into(), field.as_str().into());
    }
    error.insert("code".into(), rejection.code.into());
    error.insert("detail".into(), rejection.detail.as_str().into());
    Value::Object(error)
}
