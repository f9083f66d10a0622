//! The endpoints of InfluxDB that its clients and Telegraf write to: `/write`
//! and `/query` of its version 1, `/api/v2/write` of version 2, `/ping` and
//! `/health` of both.
//!
//! - Nothing is read here: readings come out by the interface of hourglass.
//! - There is one store: what a request says of databases, buckets,
//!   organisations and retention policies selects nothing.
//! - Parameters that are not known are ignored, as clients send all kinds; one
//!   that would change what is stored, `precision`, is checked.
//! - Every answer, errors too, has the form and the status that makes the
//!   clients do what is right: send it again after 503, split it after 413, drop
//!   it after 400. So a body that stalls is 503 here, not 408, which Telegraf
//!   drops.

mod credentials;
mod dialect;
mod error;
mod params;
mod ping;
mod query;
mod rejects;
mod routes;
mod statement;
mod write;

pub(super) use routes::routes;
