//! Group commit: one append and one sync for all that waits, then the answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use metrics::histogram;
use tokio::sync::{oneshot, watch};

use super::disk::Disk;
use super::tail::{Reply, Tail, TailRecord};
use super::{
    AppendError, JournalError, JournalState, KeyedWatch, Log, LogError, Record, Recovered,
    Reservation, Space,
};
use crate::config::JournalSettings;
use crate::metrics::{Ledger, names};
use crate::model::Batch;

/// A record that is to become durable, with its room and whoever waits for it.
#[derive(Debug)]
pub struct Append {
    encoded: Vec<u8>,
    record: Record,
    reservation: Reservation,
    reply: Reply,
}

impl Append {
    /// A record that `encoded` holds encoded.
    #[must_use]
    pub fn new(record: Record, encoded: Vec<u8>, reservation: Reservation) -> (Self, Answer) {
        let (reply, answer) = oneshot::channel();
        let append = Self {
            encoded,
            record,
            reservation,
            reply,
        };
        (append, Answer(answer))
    }

    /// Bytes of the encoded record.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.encoded.len()
    }
}

/// What the journal will say of a record.
#[derive(Debug)]
pub struct Answer(oneshot::Receiver<Result<u64, AppendError>>);

impl Answer {
    /// Resolves as [`super::Journal::append`] does.
    ///
    /// # Errors
    /// [`JournalError`]: the record is not and will not be durable.
    pub async fn wait(self) -> Result<u64, JournalError> {
        let seq = self.0.await.map_err(|_| JournalError::Stopping)??;
        Ok(seq)
    }

    /// What was said by now.
    pub fn said(&mut self) -> Option<Result<u64, AppendError>> {
        self.0.try_recv().ok()
    }
}

/// What is on disk, as others than the writer see it.
#[derive(Debug, Default)]
pub(super) struct Extent {
    pub(super) segments: AtomicU64,
    pub(super) oldest_segment_end: AtomicU64,
}

/// Commits groups to a log, on the caller's thread.
pub struct GroupCommit {
    log: Log,
    /// Whether the last group was refused; said once.
    is_refusing: bool,
    ledger: Arc<Ledger>,
    watch: KeyedWatch,
    tail: Arc<Tail>,
    state: watch::Sender<JournalState>,
    extent: Arc<Extent>,
}

impl GroupCommit {
    /// Opens the log on `disk` and checks it; what it holds counts as recovered.
    ///
    /// # Errors
    /// [`LogError`] where the log cannot be read whole.
    pub fn open(
        disk: Arc<dyn Disk>,
        space: Arc<Space>,
        settings: &JournalSettings,
        ledger: Arc<Ledger>,
        watch: KeyedWatch,
    ) -> Result<(Self, Recovered), LogError> {
        let (log, recovered) = Log::open_with(
            disk,
            space,
            settings.segment_bytes,
            &mut |seq, received_at, keyed| watch(seq, received_at, keyed),
        )?;
        ledger.recover(recovered.values);
        let tail = Tail::new(settings.queue_bytes_max, log.next_seq(), recovered.bytes);
        let commit = Self {
            log,
            is_refusing: false,
            ledger,
            watch,
            tail,
            state: watch::channel(JournalState::Writing).0,
            extent: Arc::default(),
        };
        commit.publish();
        Ok((commit, recovered))
    }

    /// The log.
    #[must_use]
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Where durable records go.
    #[must_use]
    pub fn tail(&self) -> &Arc<Tail> {
        &self.tail
    }

    pub(super) fn extent(&self) -> &Arc<Extent> {
        &self.extent
    }

    pub(super) fn state(&self) -> watch::Receiver<JournalState> {
        self.state.subscribe()
    }

    /// Counts a record that came too late to be taken, and whose sender is told so
    /// by the end of its channel.
    pub(super) fn refuse_unheard(&self, append: &Append) {
        self.ledger.refuse_items(append.record.counts().0);
    }

    /// Makes a group durable and hands its records on, or answers why it is not.
    pub fn commit(&mut self, mut group: Vec<Append>) {
        let started = Instant::now();
        let appended = self.log.append(group.iter().map(|a| a.encoded.as_slice()));
        histogram!(names::JOURNAL_SYNC_SECONDS).record(started.elapsed());
        histogram!(names::JOURNAL_GROUP_RECORDS).record(group.len() as f64);
        match appended {
            Ok(first) => {
                self.publish();
                self.takes_writes();
                self.tell_keyed(&mut group, first);
                self.hand_on(group, first);
            }
            Err(error) => {
                self.refuse(&error);
                for append in group {
                    self.ledger.refuse_items(append.record.counts().0);
                    drop(append.reservation);
                    // A sender that went away needs no answer.
                    drop(append.reply.send(Err(error.clone())));
                }
            }
        }
    }

    /// Gives the applier a group that is durable and begins with record `first`.
    fn hand_on(&self, group: Vec<Append>, first: u64) {
        let durable = group.into_iter().zip(first..).map(|(append, seq)| {
            let Append {
                record,
                reservation,
                reply,
                encoded,
            } = append;
            drop(reservation);
            let (items, values) = record.counts();
            self.ledger.accept(items, values);
            // A record of no readings takes room too.
            let bytes = record.batch().map_or(0, Batch::bytes);
            let bytes = size_of::<TailRecord>() + bytes;
            let tail_record = TailRecord {
                seq,
                record,
                bytes: encoded.len() as u64,
                reply: Some(reply),
            };
            (tail_record, bytes)
        });
        self.tail.push(durable);
    }

    /// Hands over the keyed answers of a group that starts at `first`: nobody
    /// behind the journal needs them.
    fn tell_keyed(&self, group: &mut [Append], first: u64) {
        for (append, seq) in group.iter_mut().zip(first..) {
            if let Record::Batch {
                received_at, keyed, ..
            } = &mut append.record
                && let Some(keyed) = keyed.take()
            {
                (self.watch)(seq, *received_at, keyed);
            }
        }
    }

    /// Says once that there is room again.
    fn takes_writes(&mut self) {
        if std::mem::take(&mut self.is_refusing) {
            self.state.send_replace(JournalState::Writing);
            tracing::info!("the journal takes writes again");
        }
    }

    /// Says once why groups are refused.
    fn refuse(&mut self, error: &AppendError) {
        let is_first = !std::mem::replace(&mut self.is_refusing, true);
        match error {
            AppendError::NoRoom(_) if is_first => {
                self.state
                    .send_replace(JournalState::NoRoom(error.to_string()));
                tracing::warn!(%error, "readings are refused until there is room");
            }
            AppendError::NoRoom(_) => {}
            AppendError::Poisoned(_) => {
                let poisoned = JournalState::Poisoned(error.to_string());
                let is_news = |state: &mut JournalState| {
                    let is_news = !matches!(state, JournalState::Poisoned(_));
                    *state = poisoned;
                    is_news
                };
                if self.state.send_if_modified(is_news) {
                    tracing::error!(%error, "the journal takes no more writes");
                }
            }
        }
    }

    /// Removes segments in which everything is below `low_water`; looks for room
    /// where there was none.
    pub fn release(&mut self, low_water: u64) {
        if let Err(error) = self.log.release(low_water) {
            tracing::warn!(%error, "a journal segment could not be removed; it is tried again");
        }
        // Who is told of a full disk may send nothing more: this finds out.
        if self.is_refusing && self.log.has_room() {
            self.takes_writes();
        }
        self.publish();
    }

    /// Leaves no segment in which everything is below `low_water`, that which is
    /// written to included.
    pub fn finish(&mut self, low_water: u64) {
        if let Err(error) = self.log.finish(low_water) {
            tracing::warn!(%error, "the journal could not be tidied at the stop; the next start reads it again");
        }
        self.publish();
    }

    fn publish(&self) {
        let (segments, end) = (self.log.segments() as u64, self.log.oldest_segment_end());
        self.extent.segments.store(segments, Ordering::Relaxed);
        self.extent.oldest_segment_end.store(end, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for GroupCommit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GroupCommit")
            .field("log", &self.log)
            .finish_non_exhaustive()
    }
}

/// However the writer ends, a panic included, the applier is told: it ends then
/// too, and the service notices.
impl Drop for GroupCommit {
    fn drop(&mut self) {
        self.tail.close();
    }
}
