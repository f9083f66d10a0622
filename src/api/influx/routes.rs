//! Which path does what.

use axum::Router;
use axum::http::{Method, StatusCode, Uri};
use axum::middleware::map_response;
use axum::routing::{any, get, post};

use super::dialect::Dialect;
use super::error::InfluxError;
use super::{ping, query, write};
use crate::api::ApiState;

/// The routes of this module, their errors and headers with them.
pub(in crate::api) fn routes() -> Router<ApiState> {
    Router::new()
        .route("/write", post(write::post_v1))
        .route("/query", get(query::get).post(query::post))
        .route("/ping", get(ping::ping))
        .method_not_allowed_fallback(method_not_allowed_v1)
        .route("/api/v2/write", post(write::post_v2))
        .route("/health", get(ping::health))
        .method_not_allowed_fallback(method_not_allowed_v2)
        .route("/api/v2/{*path}", any(not_found))
        .layer(map_response(ping::versioned))
}

fn method_not_allowed(dialect: Dialect, method: &Method, uri: &Uri) -> InfluxError {
    let message = format!("`{}` does not take {method}", uri.path());
    InfluxError::new(dialect, StatusCode::METHOD_NOT_ALLOWED, message)
}

async fn method_not_allowed_v1(method: Method, uri: Uri) -> InfluxError {
    method_not_allowed(Dialect::V1, &method, &uri)
}

async fn method_not_allowed_v2(method: Method, uri: Uri) -> InfluxError {
    method_not_allowed(Dialect::V2, &method, &uri)
}

/// So that clients of version 2 show why they cannot read here.
async fn not_found(uri: Uri) -> InfluxError {
    let message = format!(
        "there is nothing at `{}`; of InfluxDB's interface hourglass has what writes, \
         /api/v2/write; to read, GET /v1/sensors/{{id}}/hourly, /v1/sensors/{{id}}/readings or \
         /v1/latest (see /openapi.json)",
        uri.path()
    );
    InfluxError::new(Dialect::V2, StatusCode::NOT_FOUND, message)
}
