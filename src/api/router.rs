//! Which path does what.

use std::time::Instant;

use axum::Router;
use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::{get, post};
use metrics::histogram;
use tower_http::cors::{AllowOrigin, CorsLayer};

use super::{
    ApiState, Problem, conflicts, hourly, idempotency, influx, latest, metrics_page, openapi, ops,
    readings_delete, readings_get, readings_post, registry, rejected, retention, sensors,
    site_hourly,
};
use crate::metrics::names;

/// The whole interface.
pub fn router(state: ApiState) -> Router {
    let cors = cors(&state.settings.server.cors_origins);
    let routes = Router::new()
        .route("/v1/readings", post(readings_post::post))
        .route("/v1/sensors", get(sensors::list))
        .route("/v1/sensors/{id}", get(sensors::get))
        .route("/v1/sites/{id}/hourly", get(site_hourly::get))
        .route(
            "/v1/sensors/{id}/readings",
            get(readings_get::get).delete(readings_delete::delete),
        )
        .route("/v1/sensors/{id}/hourly", get(hourly::get_one))
        .route("/v1/sensors/{id}/latest", get(latest::get_one))
        .route("/v1/hourly", get(hourly::get_many))
        .route("/v1/latest", get(latest::get_many))
        .route("/v1/conflicts", get(conflicts::get_many))
        .route("/v1/sensors/{id}/conflicts", get(conflicts::get_one))
        .route("/v1/rejected", get(rejected::get))
        .route("/v1/rejected/totals", get(rejected::totals))
        .route("/v1/retention", get(retention::get))
        .route("/livez", get(ops::livez))
        .route("/readyz", get(ops::readyz))
        .route("/metrics", get(metrics_page::get))
        .route("/openapi.json", get(openapi::get))
        // Before the fallbacks, which are for the routes that are there by then.
        .merge(registry::routes())
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .merge(influx::routes())
        .layer(from_fn(measure));
    let routes = match cors {
        Some(cors) => routes.layer(cors),
        None => routes,
    };
    routes.with_state(state)
}

async fn not_found(uri: Uri) -> Problem {
    Problem::new(
        StatusCode::NOT_FOUND,
        "not_found",
        format!("there is nothing at `{}`", uri.path()),
    )
}

async fn method_not_allowed(method: Method, uri: Uri) -> Problem {
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        format!("`{}` does not take {method}", uri.path()),
    )
}

/// Times a request by its route, never by its path: ids are no label.
async fn measure(request: Request, next: Next) -> Response {
    let started = Instant::now();
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or_else(|| "none".to_owned(), |path| path.as_str().to_owned());
    let method = match *request.method() {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::HEAD => "HEAD",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        _ => "other",
    };
    let response = next.run(request).await;
    let status = response.status().as_u16().to_string();
    histogram!(names::HTTP_REQUEST_SECONDS, "route" => route, "method" => method, "status" => status)
        .record(started.elapsed());
    response
}

/// `None` without configured origins: then browsers of other pages are refused
/// by their own rules.
fn cors(origins: &[String]) -> Option<CorsLayer> {
    if origins.is_empty() {
        return None;
    }
    let origins = if origins == ["*"] {
        AllowOrigin::any()
    } else {
        AllowOrigin::list(
            origins
                .iter()
                .filter_map(|origin| HeaderValue::from_str(origin).ok()),
        )
    };
    Some(
        CorsLayer::new()
            .allow_origin(origins)
            .allow_methods([
                Method::GET,
                Method::POST,
                Method::PUT,
                Method::PATCH,
                Method::DELETE,
            ])
            .allow_headers([
                header::CONTENT_TYPE,
                header::CONTENT_ENCODING,
                header::IF_MATCH,
                header::IF_NONE_MATCH,
                idempotency::KEY,
            ])
            .expose_headers([
                header::RETRY_AFTER,
                header::ETAG,
                idempotency::REPLAYED,
                HeaderName::from_static("hourglass-complete"),
                readings_get::RAW_FROM_HEADER,
            ]),
    )
}
