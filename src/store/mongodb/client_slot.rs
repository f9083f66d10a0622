//! The client in use, which is made anew where it is found stuck.
//!
//! The driver opens two connections of a server at once at most, and waits without
//! end for the greeting on one that something in between has forgotten. With two
//! such its pool opens no more, while its monitor, on a connection of its own,
//! finds the server well: nothing would be answered until a restart. So where no
//! call at all was answered for as long as one may take, another client takes its
//! place.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ::mongodb::Client;
use tokio::sync::watch;

use super::connection::Ready;

/// The slot; empty until somebody connects.
#[derive(Default)]
pub(super) struct ClientSlot {
    current: Mutex<Current>,
    /// Calls that ended, with whatever answer; the driver's own word that there is
    /// no server is one, too.
    answers: AtomicU64,
    /// Clients that were given up.
    given_up: watch::Sender<u64>,
}

#[derive(Default)]
struct Current {
    client: Option<Client>,
    ready: Option<Arc<Ready>>,
}

/// What one call knows of the slot as it began.
pub(super) struct Call {
    given_up: watch::Receiver<u64>,
    answers: u64,
}

impl ClientSlot {
    pub(super) fn client(&self) -> Option<Client> {
        self.lock().client.clone()
    }

    pub(super) fn ready(&self) -> Option<Arc<Ready>> {
        self.lock().ready.clone()
    }

    pub(super) fn put_client(&self, client: &Client) {
        self.lock().client = Some(client.clone());
    }

    /// The client that was put is set up; nothing where it was given up meanwhile.
    pub(super) fn put_ready(&self, ready: &Arc<Ready>) {
        let mut current = self.lock();
        if current.client.is_some() {
            current.ready = Some(Arc::clone(ready));
        }
    }

    pub(super) fn begin(&self) -> Call {
        Call {
            given_up: self.given_up.subscribe(),
            answers: self.answers.load(Ordering::Relaxed),
        }
    }

    pub(super) fn answered(&self) {
        self.answers.fetch_add(1, Ordering::Relaxed);
    }

    /// `call` was not answered: the client is given up, unless another call was
    /// answered meanwhile, or it is another one by now. Whether it was.
    pub(super) fn unanswered(&self, call: &Call) -> bool {
        if self.answers.load(Ordering::Relaxed) != call.answers {
            return false;
        }
        let mut current = self.lock();
        if call.given_up.has_changed().unwrap_or(true) {
            return false;
        }
        *current = Current::default();
        self.given_up.send_modify(|given_up| *given_up += 1);
        true
    }

    fn lock(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Call {
    /// Resolves when the client of the call is given up.
    pub(super) async fn given_up(&mut self) {
        // The slot outlives its calls.
        drop(self.given_up.changed().await);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_client_is_given_up_once_and_only_where_nothing_was_answered() {
        let slot = ClientSlot::default();
        let (first, second) = (slot.begin(), slot.begin());
        slot.answered();
        assert!(!slot.unanswered(&first));
        assert!(!slot.unanswered(&second));
        let (mut third, fourth) = (slot.begin(), slot.begin());
        assert!(slot.unanswered(&slot.begin()));
        third.given_up().await;
        assert!(!slot.unanswered(&fourth), "it was of the client before");
        assert!(slot.unanswered(&slot.begin()));
    }
}
