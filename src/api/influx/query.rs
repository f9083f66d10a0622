//! `/query`: enough for v1 clients to connect.
//!
//! What is not taken is answered 400, where InfluxDB tells only what it cannot
//! parse so and other errors inside a 200: clients make an exception of both, but
//! of a 200 only where they look into it, which `curl -f` and scripts do not.

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::credentials::Credentials;
use super::dialect::Dialect;
use super::error::InfluxError;
use super::params::Params;
use super::statement::{Statement, parse};
use crate::api::body::receive;
use crate::api::{ApiState, Problem};

/// The one database there is.
const DATABASE: &str = "hourglass";

/// Most bytes of a form, as many as an address may have.
const FORM_BYTES_MAX: usize = 64 << 10;

pub(super) async fn get(
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, InfluxError> {
    answer(
        &headers,
        &Params::read(query.unwrap_or_default().as_bytes()),
    )
}

/// The parameters may stand in the address or in a form.
pub(super) async fn post(
    State(state): State<ApiState>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, InfluxError> {
    let body = receive(&state, &headers, body, FORM_BYTES_MAX).await;
    let body = body.map_err(|error| InfluxError::of(Dialect::V1, Problem::from(error)))?;
    let form = if is_form(&headers) {
        Params::read(&body)
    } else {
        Params::default()
    };
    let address = Params::read(query.unwrap_or_default().as_bytes());
    answer(&headers, &form.then(address))
}

fn is_form(headers: &HeaderMap) -> bool {
    let media_type = headers.get(header::CONTENT_TYPE);
    let media_type = media_type.and_then(|value| value.to_str().ok());
    let media_type = media_type.and_then(|value| value.split(';').next());
    let form = "application/x-www-form-urlencoded";
    media_type.is_some_and(|value| value.trim().eq_ignore_ascii_case(form))
}

fn answer(headers: &HeaderMap, params: &Params) -> Result<Response, InfluxError> {
    Credentials::read(Dialect::V1, headers, params)?;
    let statements = parse(params.get("q").unwrap_or_default());
    let statements =
        statements.map_err(|error| InfluxError::invalid(Dialect::V1, error.to_string()))?;
    let results = statements.iter().enumerate();
    let results: Vec<Value> = results
        .map(|(id, statement)| match statement {
            Statement::CreateDatabase => json!({ "statement_id": id }),
            Statement::ShowDatabases => {
                json!({ "statement_id": id, "series": [databases(params.get("db"))] })
            }
        })
        .collect();
    let body = json!({ "results": results }).to_string();
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

/// The database that the client names is there too: it may write to it.
fn databases(named: Option<&str>) -> Value {
    let named = named.filter(|name| !name.is_empty() && *name != DATABASE);
    let names: Vec<[&str; 1]> = [DATABASE].into_iter().chain(named).map(|n| [n]).collect();
    json!({ "name": "databases", "columns": ["name"], "values": names })
}
