//! `POST /write` and `POST /api/v2/write`: line protocol.

use axum::Extension;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};

use super::credentials::Credentials;
use super::dialect::Dialect;
use super::error::InfluxError;
use super::params::Params;
use super::rejects;
use crate::api::body::{ReadingsBody, receive_readings};
use crate::api::idempotency::{accept, keyed_request, mark};
use crate::api::{ApiState, Problem};
use crate::decode::TextOnly;
use crate::ingest::{Format, Intake};
use crate::receive::Peer;

pub(super) async fn post_v1(
    State(state): State<ApiState>,
    RawQuery(query): RawQuery,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, InfluxError> {
    write(Dialect::V1, &state, (query, peer), headers, body).await
}

pub(super) async fn post_v2(
    State(state): State<ApiState>,
    RawQuery(query): RawQuery,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, InfluxError> {
    write(Dialect::V2, &state, (query, peer), headers, body).await
}

/// 204 when no line was refused, an empty body included. Content-Type is not
/// looked at: curl's default is wrong, and clients differ.
async fn write(
    dialect: Dialect,
    state: &ApiState,
    (query, peer): (Option<String>, Option<Extension<Peer>>),
    headers: HeaderMap,
    body: Body,
) -> Result<Response, InfluxError> {
    let params = Params::read(query.unwrap_or_default().as_bytes());
    Credentials::read(dialect, &headers, &params)?;
    let unit = dialect.unit(params.get("precision"));
    let unit = unit.map_err(|error| InfluxError::invalid(dialect, error))?;
    // Part of what an idempotency key belongs to.
    let route = match dialect {
        Dialect::V1 => "write",
        Dialect::V2 => "api/v2/write",
    };
    let how = Intake {
        // Agents send lines of text beside those of numbers, and would send the
        // whole batch in vain for each.
        format: Format::LineProtocol(TextOnly::Skip),
        unit: Some(unit),
        unit_parameter: "precision",
        source: match dialect {
            Dialect::V1 => "/write",
            Dialect::V2 => "/api/v2/write",
        },
        peer: peer.map(|Extension(Peer(address))| address),
    };
    let told = |problem: Problem| InfluxError::of(dialect, problem);
    let request = keyed_request(&headers, route).map_err(told)?;
    let received = receive_readings(state, &headers, body).await;
    let ReadingsBody { bytes, token } = received.map_err(told)?;
    let taken = accept(state, request, how, bytes, token).await;
    let taken = taken.map_err(|error| told(error.into()))?;
    let response = if taken.outcome.rejected == 0 {
        StatusCode::NO_CONTENT.into_response()
    } else {
        // Only now, as the good lines are durable: nobody sends them again.
        InfluxError::invalid(dialect, rejects::message(&taken.outcome)).into_response()
    };
    Ok(mark(response, taken.is_replayed))
}
