//! What ops see: the ledger of invariant I7 as counters of this process, and
//! the names of everything on `/metrics`.
//!
//! The ledger is plain atomics owned by one service, so tests can run several
//! services in one process; [`export`] copies it to the `metrics` recorder at
//! each scrape. No label has unbounded values.

mod export;
mod ledger;
pub mod names;
mod udp;

pub use export::{Gauges, UdpGauges, describe, export};
pub use ledger::{Ledger, LedgerSnapshot, Refusal};
pub use udp::{UdpDrop, UdpLedger};
