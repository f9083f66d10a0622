//! Bytes off sockets, bounded in size and time. What they mean is not known
//! here.

mod body_budget;
mod connection;
mod http_body;
mod http_listener;
mod lent_body;

pub use body_budget::{BodyBudget, BodyShare};
pub use connection::BodyStalled;
pub use http_body::{BodyLimits, ReceiveError, read_body};
pub use http_listener::{ConnectionLimits, OpenConnections, serve_http};
