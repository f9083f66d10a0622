//! The client in use, which is made anew where it is found stuck.
//!
//! The driver opens two connections of a server at once at most, and waits without
//! end for the greeting on one that something in between has forgotten. With two
//! such its pool opens no more, while its monitor, on a connection of its own,
//! finds the server well: nothing would be answered until a restart. So where calls
//! are made and none at all was answered for `silence_max`, another client takes its
//! place. Calls that their callers no longer wait for count, too: most pings and
//! queries end so.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ::mongodb::Client;
use tokio::sync::watch;
use tokio::time::Instant;

use super::connection::Ready;

/// The slot; empty until somebody connects.
pub(super) struct ClientSlot {
    current: Mutex<Current>,
    /// How long no call at all may be answered.
    silence_max: Duration,
    /// Clients that were given up.
    given_up: watch::Sender<u64>,
}

#[derive(Default)]
struct Current {
    client: Option<Client>,
    ready: Option<Arc<Ready>>,
    /// When the first call began of those since the last answer. The driver's own
    /// word that there is no server is an answer, too.
    silent_since: Option<Instant>,
}

/// What one call knows of the slot as it began.
pub(super) struct Call {
    given_up: watch::Receiver<u64>,
    begun: Instant,
}

impl ClientSlot {
    pub(super) fn new(silence_max: Duration) -> Self {
        Self {
            current: Mutex::default(),
            silence_max,
            given_up: watch::Sender::default(),
        }
    }

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

    /// A call begins. Where those before it have been met with silence for too
    /// long, their client is given up, and whether it was is told.
    pub(super) fn begin(&self) -> (Call, bool) {
        let begun = Instant::now();
        let mut current = self.lock();
        let silent_since = *current.silent_since.get_or_insert(begun);
        let is_silent = begun.duration_since(silent_since) >= self.silence_max;
        if is_silent {
            self.give_up(&mut current);
            current.silent_since = Some(begun);
        }
        let given_up = self.given_up.subscribe();
        (Call { given_up, begun }, is_silent)
    }

    pub(super) fn answered(&self) {
        self.lock().silent_since = None;
    }

    /// `call` was not answered: the client is given up, unless another call was
    /// answered meanwhile, or it is another one by now. Whether it was.
    pub(super) fn unanswered(&self, call: &Call) -> bool {
        let mut current = self.lock();
        let is_silent = current
            .silent_since
            .is_some_and(|since| since <= call.begun);
        if !is_silent || call.given_up.has_changed().unwrap_or(true) {
            return false;
        }
        self.give_up(&mut current);
        true
    }

    fn give_up(&self, current: &mut Current) {
        *current = Current::default();
        self.given_up.send_modify(|given_up| *given_up += 1);
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

    const SILENCE_MAX: Duration = Duration::from_secs(15);

    #[tokio::test]
    async fn a_client_is_given_up_once_and_only_where_nothing_was_answered() {
        let slot = ClientSlot::new(SILENCE_MAX);
        let ((first, _), (second, _)) = (slot.begin(), slot.begin());
        slot.answered();
        assert!(!slot.unanswered(&first));
        assert!(!slot.unanswered(&second));
        let ((mut third, _), (fourth, _)) = (slot.begin(), slot.begin());
        assert!(slot.unanswered(&fourth));
        third.given_up().await;
        assert!(!slot.unanswered(&third), "it was of the client before");
        let (fifth, _) = slot.begin();
        assert!(slot.unanswered(&fifth));
    }

    #[tokio::test(start_paused = true)]
    async fn calls_that_nobody_waits_for_any_more_tell_of_the_silence_too() {
        let slot = ClientSlot::new(SILENCE_MAX);
        let second = Duration::from_secs(1);
        // A ping a second, each dropped, until one was answered.
        for _ in 0..10 {
            assert!(!slot.begin().1);
            tokio::time::advance(second).await;
        }
        slot.answered();
        for _ in 0..15 {
            assert!(!slot.begin().1);
            tokio::time::advance(second).await;
        }
        let (mut call, is_given_up) = slot.begin();
        assert!(is_given_up);
        assert!(!slot.begin().1, "the new client has its own time");
        tokio::time::advance(SILENCE_MAX).await;
        assert!(slot.begin().1);
        call.given_up().await;
    }
}
