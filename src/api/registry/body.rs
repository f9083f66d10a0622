//! Bodies and conditions of changes, and answers that carry a version.

use axum::body::Body;
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::api::body::receive;
use crate::api::{ApiState, Problem};
use crate::model::SiteId;
use crate::registry::{Precondition, entity_tag};
use crate::store::RecordVersion;

/// Most bytes of one record's body.
const RECORD_BYTES_MAX: usize = 1 << 20;

/// The media types of a whole record and of a change of it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Whole {
    /// `application/json`.
    Record,
    /// `application/merge-patch+json`.
    Patch,
}

/// A JSON body of a record, and the token that a stop waits for.
pub(super) async fn json(
    state: &ApiState,
    headers: &HeaderMap,
    body: Body,
    what: Whole,
) -> Result<(Value, TaskTrackerToken), Problem> {
    let expected = match what {
        Whole::Record => "application/json",
        Whole::Patch => "application/merge-patch+json",
    };
    let given = media_type(headers);
    // A patch that says it is JSON is not told from a whole record, which would
    // lose what it leaves out.
    if given != expected {
        return Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported_media_type",
            format!("the content type `{given}` is not taken here; send {expected}"),
        ));
    }
    let token = enter(state)?;
    let bytes_max = state.settings.server.body_bytes_max.min(RECORD_BYTES_MAX);
    let bytes = receive(state, headers, body, bytes_max).await?;
    let value = serde_json::from_slice(&bytes).map_err(|error| {
        let detail = format!("the body is no JSON: {error}");
        Problem::new(StatusCode::BAD_REQUEST, "invalid_json", detail)
    })?;
    Ok((value, token))
}

/// A token that a stop waits for.
pub(super) fn enter(state: &ApiState) -> Result<TaskTrackerToken, Problem> {
    let token = state.phase.enter();
    token.ok_or_else(|| Problem::unavailable("stopping", "hourglass is stopping"))
}

/// `Content-Type` without its parameters.
pub(super) fn media_type(headers: &HeaderMap) -> String {
    let given = headers.get(header::CONTENT_TYPE);
    let given = given.and_then(|value| value.to_str().ok()).unwrap_or("");
    let given = given.split(';').next().unwrap_or_default();
    given.trim().to_ascii_lowercase()
}

/// `If-Match` and `If-None-Match`.
pub(super) fn precondition(headers: &HeaderMap) -> Result<Precondition, Problem> {
    let read = |name: HeaderName| {
        let lines: Result<Vec<&str>, _> = headers
            .get_all(&name)
            .iter()
            .map(HeaderValue::to_str)
            .collect();
        let lines = lines.map_err(|_| {
            Problem::parameter(format!("the header `{name}` is no list of entity tags"))
        })?;
        Ok::<_, Problem>((!lines.is_empty()).then(|| lines.join(",")))
    };
    let (if_match, if_none_match) = (read(header::IF_MATCH)?, read(header::IF_NONE_MATCH)?);
    Ok(Precondition::new(
        if_match.as_deref(),
        if_none_match.as_deref(),
    ))
}

/// A record as an answer, with the tag of its version.
pub(super) fn record(
    status: StatusCode,
    version: Option<RecordVersion>,
    value: &Value,
) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "application/json".to_owned()),
        (header::ETAG, entity_tag(version)),
    ];
    (status, headers, value.to_string()).into_response()
}

/// A record that was changed, at `uri`: 200, or 201 with `Location` where it is new.
pub(super) fn changed(
    is_new: bool,
    uri: &Uri,
    version: Option<RecordVersion>,
    value: &Value,
) -> Response {
    if !is_new {
        return record(StatusCode::OK, version, value);
    }
    let mut response = record(StatusCode::CREATED, version, value);
    if let Ok(path) = HeaderValue::from_str(uri.path()) {
        response.headers_mut().insert(header::LOCATION, path);
    }
    response
}

/// The site that `{id}` of a path names.
#[derive(Debug)]
pub(in crate::api) struct SitePath(pub(in crate::api) SiteId);

impl<S: Send + Sync> FromRequestParts<S> for SitePath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(id) = Path::<String>::from_request_parts(parts, state)
            .await
            .map_err(|_| Problem::parameter("the site in the path is not UTF-8 once decoded"))?;
        site(&id).map(Self)
    }
}

/// A site's id from a path or a parameter.
pub(in crate::api) fn site(text: &str) -> Result<SiteId, Problem> {
    SiteId::new(text).map_err(|error| Problem::parameter(format!("site `{text}`: {error}")))
}
