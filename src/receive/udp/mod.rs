//! The UDP receiver: datagrams off sockets into a queue, and nothing else.
//!
//! Each socket has a thread of the system, so that no task of the HTTP side
//! waits for it. The thread drains the kernel: many datagrams a system call,
//! copied into one compact [`Block`], which goes to the [`BlockQueue`]. What the
//! queue has no room for is dropped and counted, so that the kernel's own buffer
//! is kept for bursts; what the kernel drops is counted by it and read from
//! there ([`UdpWatch::kernel_dropped`]).
//!
//! received = handed to the queue + dropped by [`UdpDrop`]; what was sent to the
//! socket is received, dropped by the kernel, or waiting in it.
//!
//! [`UdpDrop`]: crate::metrics::UdpDrop

mod block;
mod kernel_drops;
mod priority;
mod queue;
mod receiver;
mod socket;

pub use block::Block;
pub use priority::give_way;
pub use queue::{BlockQueue, Most};
pub use receiver::{UdpReceivers, UdpWatch};
pub use socket::{UdpListener, UdpOptions};
