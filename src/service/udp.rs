//! The UDP receiver of the service: sockets, their threads, the thread that
//! decodes, and the order in which they end.

use std::io;
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::ServiceError;
use crate::clock::Clock;
use crate::config::UdpSettings;
use crate::decode::TimeUnit;
use crate::ingest::{DatagramThread, Ingest};
use crate::metrics::{Ledger, UdpDrop};
use crate::receive::{BlockQueue, UdpListener, UdpOptions, UdpReceivers, UdpWatch};

/// Binds the sockets, if there are to be any: what comes from then on waits in the
/// kernel.
pub(super) fn bind(settings: &UdpSettings) -> Result<Option<UdpListener>, ServiceError> {
    let Some(address) = settings.listen.address() else {
        return Ok(None);
    };
    let listener = UdpListener::bind(UdpOptions {
        address,
        workers: settings.workers,
        receive_buffer: settings.receive_buffer,
        allow: settings.allow.clone(),
    });
    let listener = listener.map_err(|source| ServiceError::ListenUdp { address, source })?;
    Ok(Some(listener))
}

/// The running receiver; without parts where there is none.
pub(super) struct Udp(Option<Parts>);

struct Parts {
    receivers: UdpReceivers,
    decoder: DatagramThread,
    ledger: Arc<Ledger>,
}

impl Udp {
    /// Starts the threads of `listener`, if there is one.
    pub(super) fn start(
        listener: Option<UdpListener>,
        settings: &UdpSettings,
        ingest: Ingest,
        ledger: &Arc<Ledger>,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, ServiceError> {
        let Some(listener) = listener else {
            return Ok(Self(None));
        };
        let address = listener.address();
        let parts = || -> io::Result<Parts> {
            let queue = Arc::new(BlockQueue::new(settings.queue_bytes_max));
            // The setting's other word is no unit.
            let unit = TimeUnit::parse(&settings.unit);
            let decoder =
                DatagramThread::start(ingest, Arc::clone(&queue), unit, Handle::current())?;
            let (ledger, clock) = (Arc::clone(ledger), Arc::clone(clock));
            let receivers = UdpReceivers::start(listener, queue, Arc::clone(&ledger), clock)?;
            Ok(Parts {
                receivers,
                decoder,
                ledger,
            })
        };
        let parts = parts().map_err(|source| ServiceError::ListenUdp { address, source })?;
        tracing::info!(
            udp = %address,
            receive_buffer = parts.receivers.watch().receive_buffer(),
            "taking datagrams on udp://{address}"
        );
        Ok(Self(Some(parts)))
    }

    /// What `/metrics` shows of it.
    pub(super) fn watch(&self) -> Option<UdpWatch> {
        let parts = self.0.as_ref()?;
        Some(parts.receivers.watch().clone())
    }

    /// Resolves when a thread ended though nobody stopped it.
    pub(super) async fn died(&self) -> ServiceError {
        let Some(parts) = &self.0 else {
            return std::future::pending().await;
        };
        tokio::select! {
            () = parts.receivers.one_ended() => ServiceError::Died("UDP receiver"),
            () = parts.decoder.ended() => ServiceError::Died("decoder of datagrams"),
        }
    }

    /// Receives no more, then waits until what was received is durable, at most
    /// until the deadline.
    pub(super) async fn stop(self, deadline: &CancellationToken) {
        let Some(parts) = self.0 else {
            return;
        };
        let watch = parts.receivers.watch().clone();
        // The kernel forgets the sockets with their counts.
        let kernel_dropped = watch.kernel_dropped();
        parts.receivers.stop().await;
        parts.decoder.finish(deadline).await;
        let udp = parts.ledger.udp();
        let dropped: u64 = UdpDrop::ALL.iter().map(|reason| udp.dropped(*reason)).sum();
        tracing::info!(
            received = udp.received(),
            kernel_dropped,
            dropped,
            "no more datagrams are taken, and those that were are in the journal"
        );
    }
}
