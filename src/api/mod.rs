//! The HTTP interface: routes, parameters, forms of answers. No rules of its
//! own: it asks `receive`, `ingest` and `query`, and tells what they said.

mod answers;
mod body;
mod conflicts;
mod content;
mod csv_columns;
mod csv_rows;
mod dry_run;
mod hourly;
mod idempotency;
mod influx;
mod latest;
mod metrics_page;
mod openapi;
mod ops;
mod params;
mod problem;
mod readings_delete;
mod readings_get;
mod readings_post;
mod registry;
mod rejected;
mod retention;
mod router;
mod sensor_filter;
mod sensors;
mod site_hourly;
mod state;

pub use problem::Problem;
pub use router::router;
pub use state::{ApiParts, ApiState, Phase};
