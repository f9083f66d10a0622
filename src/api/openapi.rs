//! `/openapi.json`: this interface, described for programs.

use axum::http::header;
use axum::response::{IntoResponse, Response};

/// Held to the routes and to the codes by a test.
const DESCRIPTION: &str = include_str!("../../docs/openapi.json");

pub(super) async fn get() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], DESCRIPTION).into_response()
}
