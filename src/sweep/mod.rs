//! What passed retention goes: the pass over the store, and what it would drop.
//!
//! A pass ([`Pass`]) goes through all sensors by pages, brings their cutoffs into
//! the [`RetentionTable`](crate::retention::RetentionTable), and only then drops
//! what lies before them, so that nothing is admitted to an hour that goes. Of
//! each sensor in this order: the buffer forgets it, the newest readings of the
//! record are cut, buckets go, readings of others go. A record that was cut shows
//! nothing that is gone, and dropping again does no harm, so a crash at any step
//! is finished by the next pass.
//!
//! What goes is told by ranges of keys; no reading is read to be dropped.

mod fleet;
mod pass;
mod preview;
mod recent;
mod task;
mod windows;

pub use pass::{Dropped, Pass, PassParts, PassTurn};
pub use preview::{Preview, SensorPreview, TierPreview};
pub use task::{LastPass, Sweep, Sweeper};
