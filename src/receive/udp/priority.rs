//! Who waits for whom when the processors are busy.

/// Steps of niceness: a thread with them gets a tenth of what one without gets
/// where both want to run, and all that is left where not.
const NICENESS: i32 = 10;

/// Makes the calling thread wait for the rest of the process where there is not
/// enough for all: senders of datagrams know losses, clients of HTTP do not.
pub fn give_way() {
    // On Linux a priority is that of a thread; raising niceness needs no right.
    if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
        tracing::debug!(%error, "a thread of the UDP receiver keeps its priority");
    }
}
