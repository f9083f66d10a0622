//! The HTTP listener: accepts connections, bounded in number, and gives each
//! its time to send a request's head.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::connection::{Activity, ConnectionRoutes, Peer};

/// Pause after the system had no means for a further connection (file
/// descriptors, memory); those that end meanwhile free some.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Most bytes of a request's head, and of what is read of a connection at once:
/// the longest address that the library takes (64 KiB), and as much of headers.
/// Its own bound is 400 KiB, which 10,000 slow heads make 4 GB.
const HEAD_BYTES_MAX: usize = 128 << 10;

/// Limits of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Most connections at once; further ones wait in the system's backlog.
    pub connections_max: usize,
    /// Longest wait for the whole head of a request, the first and each next
    /// one: a connection that is quiet for longer is closed.
    pub head_timeout: Duration,
}

/// Connections that are open; shared with the metrics.
#[derive(Debug, Clone, Default)]
pub struct OpenConnections(Arc<AtomicU64>);

impl OpenConnections {
    /// How many.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn open(&self) -> OpenConnection {
        self.0.fetch_add(1, Ordering::Relaxed);
        OpenConnection(self.clone())
    }
}

struct OpenConnection(OpenConnections);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Serves `routes` on `listener` until `stop`; then takes no further requests
/// and resolves when those under way are answered.
pub async fn serve_http(
    listener: TcpListener,
    routes: Router,
    limits: ConnectionLimits,
    open: OpenConnections,
    stop: CancellationToken,
) {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        // A sender that ends its side after the request (`nc -N`) still gets its
        // answer.
        .half_close(true)
        .max_buf_size(HEAD_BYTES_MAX)
        .header_read_timeout(limits.head_timeout);
    builder.http2().timer(TokioTimer::new());
    let builder = Arc::new(builder);
    let graceful = GracefulShutdown::new();
    let permits = Arc::new(Semaphore::new(limits.connections_max));
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = accept(&listener, &permits) => accepted,
        };
        let (stream, peer, permit) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                if !is_of_one_connection(&error) {
                    tracing::warn!(%error, "a connection cannot be accepted; trying again");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
                continue;
            }
        };
        // Answers are small; waiting to join them costs each 40 ms.
        drop(stream.set_nodelay(true));
        let (builder, routes, counted) = (Arc::clone(&builder), routes.clone(), open.open());
        let watcher = graceful.watcher();
        tokio::spawn(async move {
            let activity = Arc::new(Activity::default());
            let service = TowerToHyperService::new(ConnectionRoutes {
                routes,
                activity: Arc::clone(&activity),
                peer,
            });
            let connection = builder.serve_connection(TokioIo::new(stream), service);
            // The library's own timeout begins with HTTP/1: it knows neither a
            // connection that has not said which HTTP it speaks, nor HTTP/2.
            let ended = tokio::select! {
                ended = watcher.watch(connection.into_owned()) => ended,
                () = activity.quiet_for(limits.head_timeout) => Ok(()),
            };
            // A client that breaks off or speaks no HTTP is its own affair.
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection ended with an error");
            }
            drop((counted, permit));
        });
    }
    drop(listener);
    graceful.shutdown().await;
}

async fn accept(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
) -> io::Result<(TcpStream, Peer, OwnedSemaphorePermit)> {
    let permit = Arc::clone(permits).acquire_owned().await;
    let permit = permit.expect("the semaphore is never closed");
    let (stream, address) = listener.accept().await?;
    // One that came over IPv4 is told so, also where the listener has both.
    Ok((stream, Peer(address.ip().to_canonical()), permit))
}

/// Errors that say something of the connection, not of the listener (accept(2)).
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    )
}
