//! Bytes off sockets, bounded in size and time. What they mean is not known
//! here.

mod body_budget;
mod connection;
mod http_body;
mod http_listener;
mod lent_body;
mod udp;

pub use body_budget::{BodyBudget, BodyShare};
pub use connection::{BodyStalled, Peer};
pub use http_body::{BodyLimits, ReceiveError, read_body};
pub use http_listener::{ConnectionLimits, OpenConnections, serve_http};
pub use udp::{Block, BlockQueue, Most, UdpListener, UdpOptions, UdpReceivers, UdpWatch, give_way};
