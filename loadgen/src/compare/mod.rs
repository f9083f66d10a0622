//! The same readings into several systems, in one run on one machine.
//!
//! Every system is started in a new folder, filled, left to come to rest,
//! measured and stopped; then the next one's turn comes. Rounds repeat this, each
//! beginning with another system, so that what the machine does meanwhile meets
//! all of them. Figures are compared within a round only.

mod disk;
mod error;
#[expect(dead_code, reason = "its users come with the next step")]
mod server;
mod statistics;
mod system;

pub use disk::{allocated, append_and_sync};
pub use error::CompareError;
pub use statistics::{Latencies, Spread};
pub use system::{Program, System};
