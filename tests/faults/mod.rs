//! Real faults against real processes, under load.
//!
//! Method: a fleet posts as devices do, each batch again until it is answered
//! 202, while processes are killed and connections cut. At the end the service
//! says exactly what was acknowledged, every reading once; the ledger balances,
//! and `hourglass verify` finds nothing.

mod black_hole;
mod cases;
mod connections;
mod disk_full;
mod fleet;
mod kills;
mod outage;
mod primaries;
mod stops;
mod two_processes;
