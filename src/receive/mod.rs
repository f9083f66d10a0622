//! Bytes off sockets, bounded in size and time. What they mean is not known
//! here.

mod http_body;

pub use http_body::{BodyLimits, ReceiveError, read_body};
