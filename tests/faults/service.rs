//! A service that comes back at its address after every kill.

use crate::support::hourglass::{Hourglass, Start};

/// A running process and how to start it again.
pub(super) struct Service {
    start: Start,
    server: Option<Hourglass>,
}

impl Service {
    /// Started for the first time; it keeps the port it finds.
    pub(super) fn started(start: Start) -> Self {
        let server = start.start();
        let start = start.listen(server.address());
        Self {
            start,
            server: Some(server),
        }
    }

    /// The running process.
    pub(super) fn server(&self) -> &Hourglass {
        self.server.as_ref().expect("it runs between two calls")
    }

    /// `host:port`, the same in every life.
    pub(super) fn address(&self) -> &str {
        self.server().address()
    }

    /// Kills the process as `kill -9` does and starts the next.
    pub(super) fn kill_and_start(&mut self) {
        if let Some(server) = self.server.take() {
            server.kill_9();
        }
        self.server = Some(self.start.start());
    }

    /// The running process, and how to start it again.
    pub(super) fn into_parts(mut self) -> (Hourglass, Start) {
        let server = self.server.take().expect("it runs between two calls");
        (server, self.start)
    }
}
