//! Keys, the log of keys and a journal, driven by hand.

use std::sync::Arc;
use std::time::Duration;

use hourglass::clock::{Clock, ManualClock};
use hourglass::config::IngestSettings;
use hourglass::idempotency::{Begin, IdempotencyKey, Keys, Saver, digest};
use hourglass::journal::{KeyedAnswer, Log, Record, Space};
use hourglass::model::{Batch, Micros};

use crate::support::sim_disk::SimDisk;

/// 2026-05-01T10:00:00Z.
pub(super) const NOON: i64 = 1_777_629_600_000_000;

/// Bytes at which both logs begin a new segment: two or three records.
pub(super) const SEGMENT_BYTES: u64 = 250;

pub(super) const HOUR: Duration = Duration::from_secs(3600);

pub(super) fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new(Micros::new(NOON).unwrap()))
}

pub(super) fn settings(keys_max: usize) -> IngestSettings {
    IngestSettings {
        idempotency_keys_max: keys_max,
        ..IngestSettings::default()
    }
}

pub(super) fn key(number: u64) -> IdempotencyKey {
    IdempotencyKey::new(format!("key-{number}").as_bytes()).unwrap()
}

/// The digest of what came with [`key`].
pub(super) fn digest_of(number: u64) -> [u8; 32] {
    digest(&[&number.to_le_bytes()])
}

pub(super) fn keyed(number: u64) -> Box<KeyedAnswer> {
    Box::new(KeyedAnswer {
        key: key(number).as_str().into(),
        digest: digest_of(number),
        answer: format!("answer {number}").into_bytes().into(),
    })
}

/// Whether `keys` knows the answer of key `number`; the right one.
pub(super) fn knows(keys: &Arc<Keys>, number: u64) -> bool {
    match keys.begin(&key(number), &digest_of(number)) {
        Begin::Known(answer) => {
            assert_eq!(answer, keyed(number).answer);
            true
        }
        Begin::First(_) => false,
        other => panic!("{other:?}"),
    }
}

/// A journal and the keys, as the service wires them, without its threads.
pub(super) struct Hand {
    pub(super) journal: Log,
    pub(super) saver: Saver,
    pub(super) keys: Arc<Keys>,
    clock: Arc<ManualClock>,
}

impl Hand {
    /// A start on what the two disks hold; `None` where one fails.
    pub(super) fn start(
        journal: &SimDisk,
        keys: &SimDisk,
        keys_max: usize,
        clock: &Arc<ManualClock>,
    ) -> Option<Self> {
        let clock = Arc::clone(clock);
        let (saver, _) = Saver::open_in_segments(
            Arc::new(keys.clone()),
            &settings(keys_max),
            Arc::clone(&clock) as Arc<dyn Clock>,
            SEGMENT_BYTES,
        )
        .ok()?;
        let keys = Arc::clone(saver.keys());
        let (journal, _) = Log::open_with(
            Arc::new(journal.clone()),
            Space::new(1 << 30),
            SEGMENT_BYTES,
            &mut |seq, received_at, keyed| keys.note(seq, received_at, keyed),
        )
        .ok()?;
        Some(Self {
            journal,
            saver,
            keys,
            clock,
        })
    }

    /// A request with key `number`, up to its answer; `None` where the journal
    /// fails.
    pub(super) fn answer(&mut self, number: u64) -> Option<u64> {
        let received_at = self.clock.now();
        let record = Record::Batch {
            received_at,
            batch: Batch::default(),
            keyed: Some(keyed(number)),
        };
        let encoded = record.encode();
        let seq = self.journal.append([&encoded[..]].into_iter()).ok()?;
        self.keys.note(seq, received_at, keyed(number));
        Some(seq)
    }

    /// Gives up of the journal what the keys do not hold there, as if the store
    /// had all of it.
    pub(super) fn release(&mut self) -> Option<()> {
        let low_water = self.keys.hold(self.journal.next_seq());
        self.journal.release(low_water).ok()
    }
}
