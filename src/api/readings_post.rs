//! `POST /v1/readings`.

use axum::Extension;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

use super::body::{ReadingsBody, receive_readings};
use super::content::body_format;
use super::idempotency::{accept, keyed_request, mark};
use super::params::Params;
use super::{ApiState, Problem, dry_run};
use crate::decode::TimeUnit;
use crate::ingest::{Format, Intake, Outcome};
use crate::receive::Peer;

pub(super) async fn post(
    State(state): State<ApiState>,
    RawQuery(query): RawQuery,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let params = Params::read_any(query.as_deref())?;
    let format = body_format(&params, &headers)?;
    if !matches!(format, Format::Csv(_)) {
        params.expect_known(&["format", "unit", "dry_run"])?;
    }
    let unit = match params.one("unit")? {
        None => None,
        Some(name) => Some(TimeUnit::parse(name).ok_or_else(|| {
            Problem::parameter(format!("`unit` is ns, us, ms, s, m or h, not `{name}`"))
        })?),
    };
    let how = Intake {
        format,
        unit,
        unit_parameter: "unit",
        source: "/v1/readings",
        peer: peer.map(|Extension(Peer(address))| address),
    };
    let is_dry_run = match params.one("dry_run")? {
        None | Some("false") => false,
        Some("true") => true,
        Some(other) => {
            let detail = format!("`dry_run` is true or false, not `{other}`");
            return Err(Problem::parameter(detail));
        }
    };
    if is_dry_run {
        return dry_run::post(&state, &headers, body, how).await;
    }
    let request = keyed_request(&headers, "readings")?;
    let ReadingsBody { bytes, token } = receive_readings(&state, &headers, body).await?;
    let taken = accept(&state, request, how, bytes, token).await?;
    Ok(mark(answer(&taken.outcome), taken.is_replayed))
}

/// 202 when something was accepted or nothing was sent, else 422.
fn answer(outcome: &Outcome) -> Response {
    let status = if outcome.accepted > 0 || outcome.rejected == 0 {
        StatusCode::ACCEPTED
    } else {
        StatusCode::UNPROCESSABLE_ENTITY
    };
    let headers = [(header::CONTENT_TYPE, "application/json")];
    (status, headers, body_of(outcome).to_string()).into_response()
}

/// What became of each item, as a JSON object.
pub(super) fn body_of(outcome: &Outcome) -> Value {
    let errors: Vec<Value> = outcome
        .rejections
        .iter()
        .map(|rejection| {
            let mut error = Map::new();
            error.insert("index".into(), rejection.index.into());
            if let Some(line) = rejection.line {
                error.insert("line".into(), line.into());
            }
            if let Some(field) = &rejection.field {
                error.insert("field".into(), field.as_str().into());
            }
            error.insert("code".into(), rejection.code.as_str().into());
            error.insert("detail".into(), rejection.detail.as_str().into());
            Value::Object(error)
        })
        .collect();
    let by_code: Map<String, Value> = outcome
        .rejected_by_code
        .iter()
        .map(|(code, items)| (code.as_str().to_owned(), (*items).into()))
        .collect();
    json!({
        "accepted": outcome.accepted,
        "rejected": outcome.rejected,
        "errors": errors,
        "rejectedByCode": by_code,
        "serverTime": outcome.server_time.to_string(),
    })
}
