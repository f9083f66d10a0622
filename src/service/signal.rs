//! What stops the process.

use tokio::signal::unix::{SignalKind, signal};

/// Resolves at SIGTERM or SIGINT.
///
/// # Errors
/// When the handlers cannot be installed.
pub fn stop_signal() -> std::io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
