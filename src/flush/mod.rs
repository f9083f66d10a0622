//! Flush: picks buckets that are due, writes them to the store, and confirms:
//! first to the buffer, then, once what derives from them is durable too, to
//! the journal.
//!
//! - [`Flusher`]: the task that leases and starts workers, at most
//!   `in_flight_max` at once. While all are busy buckets simply grow: big
//!   flushes are what makes a store fast.
//! - [`FlushRound`]: one lease of many buckets until each is confirmed or
//!   re-based; the same write is repeated until its outcome is known. Before the
//!   writes it learns the newest readings that the store has of the sensors,
//!   behind them it tells what follows: `recent`, `lastSeen`, attributes.
//! - [`Backoff`]: waits between tries.
//! - [`StoreHealth`]: how the store is, by the flusher and by those that ask it.

mod backoff;
mod flusher;
mod health;
mod narrow;
mod newest_readings;
mod round;
mod tell;

pub use backoff::Backoff;
pub use flusher::{Flusher, FlusherParts, low_water};
pub use health::StoreHealth;
pub use newest_readings::newest_readings;
pub use round::{FlushRound, RoundTurn};
