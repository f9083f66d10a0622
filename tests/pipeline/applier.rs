//! The tail and the applier: in journal order, from memory or from disk; a
//! stalled applier keeps nobody waiting, and queries say so.

use std::sync::Arc;
use std::time::Duration;

use hourglass::apply::{Applier, Progress, Turn};
use hourglass::buffer::Buffer;
use hourglass::clock::ManualClock;
use hourglass::journal::tail::{Tail, TailRecord};
use hourglass::journal::{AppendError, Log, Record, Space};
use tokio::sync::oneshot::{self, Receiver, error::TryRecvError};

use super::builders::{HOUR, buffer, everything, now, reading, readings, record, tell};
use crate::support::sim_disk::SimDisk;

type Answer = Receiver<Result<u64, AppendError>>;

/// A log, a tail and an applier that a test turns by hand.
struct Parts {
    disk: SimDisk,
    log: Log,
    tail: Arc<Tail>,
    buffer: Arc<Buffer>,
    progress: Arc<Progress>,
    applier: Applier,
    held: Option<TailRecord>,
}

impl Parts {
    fn new(tail_bytes_max: usize, buffer_bytes_max: usize) -> Self {
        let disk = SimDisk::default();
        let (log, _) = Log::open(Arc::new(disk.clone()), Space::new(1 << 20), 500).unwrap();
        let tail = Tail::new(tail_bytes_max, 1, 0);
        let buffer = Arc::new(buffer(buffer_bytes_max));
        let progress = Progress::new(Arc::clone(&tail), 1, 1);
        let applier = Applier::new(
            Arc::clone(&tail),
            Arc::new(disk.clone()),
            Arc::clone(&buffer),
            Arc::new(ManualClock::new(now())),
            Arc::clone(&progress),
            Vec::new(),
        );
        Self {
            disk,
            log,
            tail,
            buffer,
            progress,
            applier,
            held: None,
        }
    }

    /// Makes records durable and hands them to the tail; who waits for each.
    fn write(&mut self, records: &[Record]) -> Vec<Answer> {
        let encoded: Vec<Vec<u8>> = records.iter().map(Record::encode).collect();
        let first = self.log.append(encoded.iter().map(Vec::as_slice)).unwrap();
        let (replies, answers): (Vec<_>, Vec<_>) =
            records.iter().map(|_| oneshot::channel()).unzip();
        let durable = records.iter().zip(&encoded).zip(first..).zip(replies);
        self.tail
            .push(durable.map(|(((record, encoded), seq), reply)| {
                let Record::Batch { batch, .. } = record else {
                    panic!("it is a batch");
                };
                let bytes = batch.bytes();
                let record = TailRecord {
                    seq,
                    record: record.clone(),
                    bytes: encoded.len() as u64,
                    reply: Some(reply),
                };
                (record, bytes)
            }));
        answers
    }

    fn turn(&mut self) -> Turn {
        self.applier.turn(&mut self.held).unwrap()
    }

    fn turn_until(&mut self, end: Turn) {
        loop {
            let turn = self.turn();
            if turn == end {
                return;
            }
            assert_eq!(turn, Turn::Applied);
        }
    }
}

/// Record `number` for one and the same instant: the first one's value stays,
/// the others are conflicts in the order in which they were applied.
fn rival(number: u32) -> Record {
    record(reading("S1", HOUR, 5, f64::from(number)))
}

fn rivals(numbers: std::ops::Range<u32>) -> Vec<Record> {
    numbers.map(rival).collect()
}

fn refused(buffer: &Buffer) -> Vec<f64> {
    let newest_first = buffer.conflicts(None, now()).into_iter();
    newest_first
        .rev()
        .map(|conflict| conflict.refused)
        .collect()
}

fn is_waiting(answer: &mut Answer) -> bool {
    matches!(answer.try_recv(), Err(TryRecvError::Empty))
}

#[test]
fn an_applier_that_falls_behind_reads_from_disk_and_keeps_the_order() {
    let Record::Batch { batch, .. } = rival(0) else {
        panic!("it is a batch");
    };
    for fitting in 1..5 {
        let mut parts = Parts::new(batch.bytes() * fitting, 1 << 20);
        let mut next = 0;
        for size in [1, 7, 2, 9, 1, 1] {
            let mut answers = parts.write(&rivals(next..next + size));
            next += size;
            for (at, answer) in answers.iter_mut().enumerate() {
                assert_eq!(is_waiting(answer), at < fitting, "{at} of {fitting}");
            }
            assert_eq!(parts.progress.is_complete(), size as usize <= fitting);
            assert_eq!(parts.progress.lag(), u64::from(size));
            let encoded = rivals(next - size..next)
                .into_iter()
                .map(|r| r.encode().len());
            let bytes: Vec<usize> = encoded.collect();
            assert_eq!(
                parts.progress.lag_bytes(),
                bytes.iter().sum::<usize>() as u64
            );
            assert_eq!(parts.turn(), Turn::Applied);
            let left = bytes.iter().skip(1).sum::<usize>();
            assert_eq!(parts.progress.lag_bytes(), left as u64);
            parts.turn_until(Turn::Idle);
            assert_eq!(parts.progress.lag_bytes(), 0);
            for (at, answer) in answers.iter_mut().enumerate().take(fitting) {
                let seq = u64::from(next - size) + 1 + at as u64;
                assert_eq!(answer.try_recv().unwrap().unwrap(), seq);
            }
            assert!(parts.progress.is_complete());
        }
        let all: Vec<f64> = (1..next).map(f64::from).collect();
        assert_eq!(refused(&parts.buffer), all);

        // Caught up, it needs no disk.
        let last = parts.disk.names().pop().unwrap();
        parts.write(&rivals(next..next + 1));
        parts.disk.overwrite(&last, Vec::new());
        assert_eq!(parts.turn(), Turn::Applied);
        assert_eq!(parts.turn(), Turn::Idle);
    }
}

#[test]
fn what_cannot_be_read_back_is_an_error_and_nothing_is_skipped() {
    let mut parts = Parts::new(1, 1 << 20);
    parts.write(&rivals(0..3));
    let last = parts.disk.names().pop().unwrap();
    parts.disk.overwrite(&last, Vec::new());
    assert_eq!(parts.turn(), Turn::Applied, "the first one is in memory");
    assert!(parts.applier.turn(&mut parts.held).is_err());
    assert_eq!(parts.progress.applied_end(), 2);
}

#[test]
fn a_stalled_applier_answers_everybody_and_is_not_complete_until_it_caught_up() {
    let mut parts = Parts::new(1 << 20, 3000);
    let fat = |number: u32| record(readings("S1", HOUR, number * 50..number * 50 + 50, 1.0));
    parts.write(&[fat(0)]);
    assert_eq!(parts.turn(), Turn::Applied);
    let mut answers = parts.write(&[fat(1), fat(2), fat(3)]);
    assert!(answers.iter_mut().all(is_waiting));
    assert!(parts.progress.is_complete());
    for _ in 0..2 {
        assert_eq!(parts.turn(), Turn::Full);
        assert!(parts.progress.is_stalled());
        assert!(!parts.progress.is_complete());
    }
    answers.extend(parts.write(&[fat(4)]));
    for (seq, answer) in (2..).zip(&mut answers) {
        assert_eq!(
            answer.try_recv().unwrap().unwrap(),
            seq,
            "durable is enough"
        );
    }
    while parts.progress.lag() > 0 {
        assert!(!parts.progress.is_complete());
        for lease in parts.buffer.lease(&everything(Duration::ZERO), 10) {
            let (key, target) = (lease.write.key, lease.write.target);
            assert!(parts.buffer.confirm(&key, target));
            tell(&parts.buffer, &[key.sensor]);
        }
        parts.buffer.evict(Duration::ZERO, Duration::ZERO);
        assert_eq!(parts.turn(), Turn::Applied);
    }
    assert!(parts.progress.is_complete());
    assert_eq!(parts.turn(), Turn::Idle);
    assert!(!parts.progress.is_stalled());
    let mut answers = parts.write(&[rival(1)]);
    assert!(is_waiting(&mut answers[0]), "it keeps up again");
}

/// The applier and the flusher must not wake each other without end.
#[test]
fn a_stall_asks_for_a_flush_once_and_an_eviction_without_effect_wakes_nobody() {
    let mut parts = Parts::new(1 << 20, 3000);
    parts.write(&[0, 1].map(|n| record(readings("S1", HOUR, n * 50..n * 50 + 50, 1.0))));
    assert_eq!(parts.turn(), Turn::Applied);
    let buffer = Arc::clone(&parts.buffer);
    let is_wanted = || futures_util::FutureExt::now_or_never(buffer.wanted()).is_some();
    is_wanted();
    let mut freed = std::pin::pin!(buffer.freed());
    assert!(!freed.as_mut().enable());
    assert_eq!(parts.turn(), Turn::Full);
    assert!(is_wanted());
    assert_eq!(parts.turn(), Turn::Full);
    assert!(!is_wanted());
    buffer.evict(Duration::ZERO, Duration::ZERO);
    let woken = futures_util::FutureExt::now_or_never(freed.as_mut());
    assert!(woken.is_none(), "nothing was freed");
}

#[test]
fn the_end_of_the_journal_answers_who_still_waits_and_all_is_applied_before_it_closes() {
    let mut parts = Parts::new(1 << 20, 1 << 20);
    let mut answers = parts.write(&rivals(0..3));
    parts.tail.close();
    for answer in &mut answers {
        assert!(answer.try_recv().unwrap().is_ok());
    }
    assert!(!parts.progress.is_complete());
    parts.turn_until(Turn::Closed);
    assert_eq!(
        (parts.progress.lag(), parts.progress.is_complete()),
        (0, true)
    );
}

#[tokio::test]
async fn caught_up_waits_for_what_is_durable_when_it_is_asked() {
    let mut parts = Parts::new(1 << 20, 1 << 20);
    let progress = Arc::clone(&parts.progress);
    progress.caught_up().await;
    parts.write(&rivals(0..3));
    let mut caught_up = std::pin::pin!(progress.caught_up());
    for applied in 0..3 {
        let early = futures_util::FutureExt::now_or_never(caught_up.as_mut());
        assert!(early.is_none(), "after {applied} of 3");
        assert_eq!(parts.turn(), Turn::Applied);
        parts.write(&[rival(10 + applied)]);
    }
    assert_eq!(progress.lag(), 3);
    caught_up.await;
}
