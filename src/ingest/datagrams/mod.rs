//! Datagrams through the same gate, into the same ledger as bodies.
//!
//! - [`DatagramBatch`]: blocks decoded into one batch.
//! - [`DatagramThread`]: takes blocks off the queue, decodes, journals.
//! - [`refusals`]: says now and then what was refused: nobody is answered.

mod batch;
mod refusals;
mod thread;

pub use thread::DatagramThread;

use batch::DatagramBatch;
use refusals::Refusals;
