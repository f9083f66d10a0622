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

/// Rejections that an answer lists.
const LISTED_MAX: usize = 100;

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
    // A large body keeps no other request waiting.
    let list = tokio::task::spawn_blocking(move || read(&bytes)).await;
    let list = list.map_err(|_| Problem::unavailable("stopping", "hourglass is stopping"))??;
    let outcome = state.registry.put_list(list).await?;
    for sensor in &outcome.sensors {
        state.buffer.retell(sensor);
    }
    Ok(answer(&outcome))
}

/// 200 when something was put, else 422.
fn answer(outcome: &BulkOutcome) -> Response {
    let status = match outcome.created + outcome.updated {
        0 => StatusCode::UNPROCESSABLE_ENTITY,
        _ => StatusCode::OK,
    };
    let mut by_code: Map<String, Value> = Map::new();
    for rejection in &outcome.rejections {
        let counted = by_code.get(rejection.code).and_then(Value::as_u64);
        by_code.insert(rejection.code.to_owned(), (counted.unwrap_or(0) + 1).into());
    }
    let errors = outcome.rejections.iter().take(LISTED_MAX).map(error);
    let body = json!({
        "created": outcome.created,
        "updated": outcome.updated,
        "rejected": outcome.rejections.len(),
        "errors": errors.collect::<Vec<_>>(),
        "rejectedByCode": by_code,
    });
    let headers = [(header::CONTENT_TYPE, "application/json")];
    (status, headers, body.to_string()).into_response()
}

fn error(rejection: &ListRejection) -> Value {
    let mut error = Map::new();
    error.insert("index".into(), rejection.index.into());
    error.insert("line".into(), rejection.line.into());
    if let Some(field) = &rejection.field {
        error.insert("field".into(), field.as_str().into());
    }
    error.insert("code".into(), rejection.code.into());
    error.insert("detail".into(), rejection.detail.as_str().into());
    Value::Object(error)
}
