//! Routes of the registry: what people say of sensors and sites.

mod body;
mod bulk;
mod sensors;
mod sites;

pub(super) use body::{SitePath, site};

use axum::Router;
use axum::routing::{get, put};

use super::ApiState;

/// The routes that change sensors and those of sites. What is read of sensors is
/// in [`super::sensors`].
pub(super) fn routes() -> Router<ApiState> {
    Router::new()
        .route("/v1/sensors", put(bulk::put))
        .route("/v1/sensors/{id}", put(sensors::put).patch(sensors::patch))
        .route("/v1/sites", get(sites::list))
        .route(
            "/v1/sites/{id}",
            get(sites::get).put(sites::put).patch(sites::patch),
        )
}
