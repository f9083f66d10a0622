//! `/ping` and `/health`.

use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::params::Params;
use crate::api::ApiState;
use crate::api::ops::journal_status;

/// The version of InfluxDB whose interface this is: the last one that has
/// `/write`, `/api/v2/write` and `/health` all three. Clients parse it.
const VERSION: &str = "1.8.10";

/// Who it is really.
const BUILD: &str = concat!("hourglass-", env!("CARGO_PKG_VERSION"));

/// Adds the headers that every answer of InfluxDB has.
pub(super) async fn versioned(mut response: Response) -> Response {
    let headers: &mut HeaderMap = response.headers_mut();
    headers.insert("x-influxdb-version", HeaderValue::from_static(VERSION));
    headers.insert("x-influxdb-build", HeaderValue::from_static(BUILD));
    response
}

/// 204, or 200 with the version for `verbose`. Both versions of InfluxDB answer
/// so while they live, and clients that ask once, when they begin, give up on
/// anything else: that no write is taken just now is for `/health` and for the
/// 503 of the write, which they repeat.
pub(super) async fn ping(RawQuery(query): RawQuery) -> Response {
    let params = Params::read(query.unwrap_or_default().as_bytes());
    match params.get("verbose") {
        None | Some("" | "0" | "false") => StatusCode::NO_CONTENT.into_response(),
        Some(_) => answer(StatusCode::OK, &json!({ "version": VERSION })),
    }
}

/// `pass` while `/readyz` is 200, else `fail` and 503.
pub(super) async fn health(State(state): State<ApiState>) -> Response {
    let journal = journal_status(&state);
    let ready = journal == "writing";
    let check = |name: &str, passes: bool, message: &str| {
        let status = if passes { "pass" } else { "fail" };
        json!({ "name": name, "status": status, "message": message })
    };
    let message = match journal {
        "writing" => "readings are taken",
        "full" => "no readings are taken: the journal is full until the store takes some",
        "disk_full" => "no readings are taken: the disk of the journal is full",
        "recovering" => "no readings are queryable yet: the journal is being read",
        "stopping" => "no readings are taken: the process stops",
        _ => "no readings are taken: the journal cannot be written until a restart",
    };
    let is_up = state.health.is_up();
    let store = if is_up {
        "up"
    } else {
        "down; the journal keeps what comes in"
    };
    let mut body = check("hourglass", ready, message);
    body["checks"] = json!([
        check("journal", ready, journal),
        check("store", is_up, store)
    ]);
    body["version"] = VERSION.into();
    body["commit"] = BUILD.into();
    let status = if ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    answer(status, &body)
}

fn answer(status: StatusCode, body: &Value) -> Response {
    let headers = [(header::CONTENT_TYPE, "application/json")];
    (status, headers, body.to_string()).into_response()
}
