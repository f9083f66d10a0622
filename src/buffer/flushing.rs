//! Leases: what the flusher takes, and how it gives back.

use std::time::Duration;

use crate::model::{BucketKey, HourStart, Micros, SensorId};
use crate::store::{BucketVersion, BucketWrite, StoredBucket};

use super::entry::{DueReason, Entry, Flight, Retry};
use super::plan::plan;
use super::{Buffer, ConflictRecord, lock};

/// When a bucket is due.
#[derive(Debug, Clone, Copy)]
pub struct DuePolicy {
    /// The hour that is being filled now.
    pub hour: HourStart,
    /// The clock's elapsed time.
    pub elapsed: Duration,
    /// Age of the oldest pending reading that makes a bucket of a closed hour
    /// due: late data come in many small pieces, and one large flush costs a
    /// store a fraction of many small ones.
    pub closed_age_max: Duration,
    /// Age of the oldest pending reading that makes a bucket due.
    pub age_max: Duration,
    /// Pending readings that make a bucket due.
    pub readings_max: usize,
    /// Sequences below it pin a segment that must go.
    pub release_below: Option<u64>,
    /// Whether everything is due.
    pub everything: bool,
}

/// A bucket's elements on their way to the store. While a lease is out no other
/// is given for its bucket.
#[derive(Debug)]
pub struct Lease {
    /// The write to make.
    pub write: BucketWrite,
    /// Why now.
    pub reason: DueReason,
}

/// How much one round may carry.
#[derive(Debug, Clone, Copy)]
pub struct RoundBounds {
    /// Buckets.
    pub buckets: usize,
    /// Bytes of its writes as documents, at which no further bucket comes in.
    pub bytes: usize,
}

impl From<usize> for RoundBounds {
    /// So many buckets, however large.
    fn from(buckets: usize) -> Self {
        Self {
            buckets,
            bytes: usize::MAX,
        }
    }
}

/// How long a bucket is left alone for which the store failed.
#[derive(Debug, Clone, Copy)]
pub struct RetryPauses {
    /// The first pause; each further one is twice as long.
    pub min: Duration,
    /// The longest.
    pub max: Duration,
}

impl DuePolicy {
    fn reason(&self, hour: HourStart, entry: &Entry) -> Option<DueReason> {
        if entry.flight.is_some() || entry.pending() == 0 {
            return None;
        }
        if entry
            .retry
            .is_some_and(|retry| self.elapsed < retry.not_before)
        {
            return None;
        }
        let waited = self.elapsed.saturating_sub(entry.pending_since);
        let pins = self
            .release_below
            .is_some_and(|below| entry.pending_seq.is_some_and(|seq| seq < below));
        if pins {
            Some(DueReason::PinsJournal)
        } else if self.everything {
            Some(DueReason::Pressed)
        } else if hour < self.hour && waited >= self.closed_age_max {
            Some(DueReason::HourClosed)
        } else if waited >= self.age_max {
            Some(DueReason::Age)
        } else if entry.pending() >= self.readings_max {
            Some(DueReason::Size)
        } else {
            None
        }
    }
}

impl Buffer {
    /// Leases due buckets within `bounds`, the most urgent first, then those that
    /// wait longest.
    pub fn lease(&self, policy: &DuePolicy, bounds: impl Into<RoundBounds>) -> Vec<Lease> {
        let bounds = bounds.into();
        let mut due: Vec<(DueReason, u64, BucketKey)> = Vec::new();
        for shard in &self.shards {
            let shard = lock(shard);
            for (sensor, hours) in &shard.sensors {
                for (hour, entry) in &hours.hours {
                    if let Some(reason) = policy.reason(*hour, entry)
                        && !self.is_blocked(sensor, *hour)
                    {
                        let key = BucketKey {
                            sensor: sensor.clone(),
                            hour: *hour,
                        };
                        due.push((reason, entry.pending_seq.unwrap_or(u64::MAX), key));
                    }
                }
            }
        }
        if due.len() > bounds.buckets {
            due.select_nth_unstable(bounds.buckets);
            due.truncate(bounds.buckets);
        }
        due.sort_unstable();
        let mut bytes = 0_usize;
        let mut leases = Vec::new();
        for (reason, _, key) in due {
            if bytes >= bounds.bytes {
                break;
            }
            if let Some((lease, more)) = self.lease_one(key, reason) {
                bytes = bytes.saturating_add(more);
                leases.push(lease);
            }
        }
        leases
    }

    /// The lease, and bytes of its write as a document.
    fn lease_one(&self, key: BucketKey, reason: DueReason) -> Option<(Lease, usize)> {
        let mut shard = self.shard(&key.sensor);
        let hours = shard.sensors.get_mut(&key.sensor)?;
        if key.hour < self.retention.oldest_kept(&key.sensor) {
            self.expire_hour(hours, key.hour);
            return None;
        }
        let entry = hours.hours.get_mut(&key.hour)?;
        // Asked again under the lock: a deletion is noted before it purges.
        if entry.flight.is_some() || entry.pending() == 0 || self.is_blocked(&key.sensor, key.hour)
        {
            return None;
        }
        let planned = plan(
            &key,
            entry.last.as_ref(),
            &entry.merge,
            entry.stored,
            self.part_bytes_max,
            &self.writer,
        );
        let seq = entry.pending_seq?;
        entry.flight = Some(Box::new(Flight {
            end: planned.end,
            after: planned.after,
            expect: planned.write.expect,
            seq,
            since: entry.pending_since,
        }));
        if entry.pending() == 0 {
            entry.pending_seq = None;
        } else {
            // What did not fit may come from the same record.
            self.pins.add(seq);
        }
        let lease = Lease {
            write: planned.write,
            reason,
        };
        Some((lease, planned.bytes))
    }

    /// The store holds the lease of `key` whose target is `target`; whether there
    /// is such a lease. Its pin goes once what follows from it is told, see
    /// [`Buffer::take_untold`].
    pub fn confirm(&self, key: &BucketKey, target: BucketVersion) -> bool {
        let mut shard = self.shard(&key.sensor);
        self.lay_ghost(key, target);
        let Some(hours) = shard.sensors.get_mut(&key.sensor) else {
            return false;
        };
        let before = hours.bytes();
        let Some(entry) = hours.hours.get_mut(&key.hour) else {
            return false;
        };
        let Some(flight) = entry
            .flight
            .take_if(|flight| flight.after.version == target)
        else {
            return false;
        };
        let elements = entry.merge.elements();
        let values = elements.values_before(flight.end) - elements.values_before(entry.stored);
        let rows = entry.stored..flight.end;
        if self.is_deleting(&key.sensor) {
            hours.telling.make_stale();
        }
        hours.telling.put(key.hour, elements, rows);
        hours.telling.pin(flight.seq);
        entry.stored = flight.end;
        entry.last = Some(flight.after);
        entry.retry = None;
        self.pending_values
            .fetch_sub(values as u64, std::sync::atomic::Ordering::Relaxed);
        self.ledger.store(values as u64);
        self.account(before, hours.bytes());
        true
    }

    /// Somebody else was in the bucket of `key`: it is as `loaded` says. What of
    /// the lease and of the pending elements is in already is dropped, the rest
    /// is pending. If the loaded version is the lease's own target, the lease
    /// is confirmed instead (its reply was lost). A bucket whose readings were
    /// dropped takes none: what was not stored is expired.
    pub fn rebase(
        &self,
        key: &BucketKey,
        target: BucketVersion,
        loaded: Option<&StoredBucket>,
        now: Micros,
    ) {
        if loaded.is_some_and(|bucket| bucket.version() == target) {
            self.confirm(key, target);
            return;
        }
        let mut shard = self.shard(&key.sensor);
        self.lay_ghost(key, target);
        let Some(hours) = shard.sensors.get_mut(&key.sensor) else {
            return;
        };
        let has_dropped = |bucket: &StoredBucket| bucket.parts.iter().any(|p| p.raw_dropped);
        if loaded.is_some_and(has_dropped) {
            self.expire_flight(hours, key.hour, target);
            return;
        }
        let before_sensor = hours.bytes();
        let Some(entry) = hours.hours.get_mut(&key.hour) else {
            return;
        };
        let Some(flight) = entry
            .flight
            .take_if(|flight| flight.after.version == target)
        else {
            return;
        };
        let before = entry.bytes();
        let elements = entry.merge.elements();
        let values = elements.value_count() - elements.values_before(entry.stored);
        let rebased = entry.rebase(loaded);
        entry.retry = None;
        self.account(before, entry.bytes());
        self.pending_values.fetch_sub(
            (values - rebased.pending) as u64,
            std::sync::atomic::Ordering::Relaxed,
        );
        self.ledger.duplicate(rebased.duplicates as u64);
        self.ledger.conflict(rebased.conflicts.len() as u64);
        let labels = hours.labels.as_deref();
        let mut kept = lock(&self.conflicts);
        for (conflict, origin) in rebased.conflicts {
            kept.push(ConflictRecord {
                sensor: key.sensor.clone(),
                at: key.hour.at(conflict.offset),
                measure: conflict.measure,
                kept: conflict.kept,
                refused: conflict.refused,
                received_at: now,
                // The values that stay were loaded.
                kept_from: None,
                refused_from: labels.and_then(|labels| labels.get(origin)).cloned(),
            });
        }
        drop(kept);
        if self.is_deleting(&key.sensor) {
            hours.telling.make_stale();
        }
        // Its writer may have stopped before it told of what it stored.
        for part in loaded.iter().flat_map(|bucket| &bucket.parts) {
            let rows = 0..part.elements.len();
            hours.telling.put(key.hour, &part.elements, rows);
        }
        // The lease's pin now holds what is pending, or what is to be told.
        if let Some(later) = entry.pending_seq.take() {
            self.pins.remove(later);
        }
        if rebased.pending > 0 {
            entry.pending_seq = Some(flight.seq);
            entry.pending_since = flight.since;
        } else {
            hours.telling.pin(flight.seq);
        }
        self.account(before_sensor, hours.bytes());
    }

    /// Takes back the lease of `key` whose target is `target`, because the store
    /// failed for this bucket while it serves others: its readings are pending
    /// again, and no lease is given before a pause, twice as long each time.
    /// Whether its write went in may be unknown; the fence of the next one
    /// tells. `is_passing` says whether waiting may help. Answers whether this
    /// is the first failure in a row.
    pub fn set_aside(
        &self,
        key: &BucketKey,
        target: BucketVersion,
        elapsed: Duration,
        pauses: RetryPauses,
        is_passing: bool,
    ) -> bool {
        let mut shard = self.shard(&key.sensor);
        self.lay_ghost(key, target);
        let hours = shard.sensors.get_mut(&key.sensor);
        let Some(entry) = hours.and_then(|hours| hours.hours.get_mut(&key.hour)) else {
            return false;
        };
        let Some(flight) = entry
            .flight
            .take_if(|flight| flight.after.version == target)
        else {
            return false;
        };
        if let Some(later) = entry.take_back(&flight) {
            self.pins.remove(later);
        }
        let before = entry.retry;
        let pause = before.map_or(pauses.min, |retry| {
            retry.pause.saturating_mul(2).min(pauses.max)
        });
        entry.retry = Some(Retry {
            not_before: elapsed.saturating_add(pause),
            pause,
            is_passing,
        });
        before.is_none()
    }

    /// When the next bucket that was set aside is due again, by the clock's
    /// elapsed time; only of those where waiting may help.
    #[must_use]
    pub fn next_retry(&self) -> Option<Duration> {
        let retry_of = |entry: &Entry| {
            let retry = entry.retry.filter(|retry| retry.is_passing)?;
            (entry.pending() > 0 && entry.flight.is_none()).then_some(retry.not_before)
        };
        self.least(retry_of)
    }

    /// Buckets that are set aside.
    #[must_use]
    pub fn set_aside_buckets(&self) -> usize {
        let count = |shard: &std::sync::Mutex<super::Shard>| -> usize {
            let shard = lock(shard);
            let entries = shard.sensors.values().flat_map(|h| h.hours.values());
            entries.filter(|entry| entry.retry.is_some()).count()
        };
        self.shards.iter().map(count).sum()
    }

    /// Forgets buckets that the store holds whole: those nobody has touched for
    /// `idle`, and while the buffer holds more than three quarters of its bound
    /// any, the oldest hour first.
    pub fn evict(&self, elapsed: Duration, idle: Duration) {
        let target = self.settings.bytes_max / 4 * 3;
        let held = self.bytes();
        let mut clean: Vec<(HourStart, SensorId)> = Vec::new();
        for shard in &self.shards {
            let mut shard = lock(shard);
            for (sensor, hours) in &mut shard.sensors {
                // The record of the sensor may lack what they hold.
                if hours.telling.holds_elements() {
                    continue;
                }
                hours.hours.retain(|hour, entry| {
                    let is_clean = entry.is_clean();
                    let is_idle = elapsed.saturating_sub(entry.touched) >= idle;
                    if is_clean && is_idle {
                        self.forget(entry);
                        return false;
                    }
                    if is_clean {
                        clean.push((*hour, sensor.clone()));
                    }
                    true
                });
            }
        }
        if self.bytes() > target {
            clean.sort_unstable();
            for (hour, sensor) in clean {
                if self.bytes() <= target {
                    break;
                }
                let mut shard = self.shard(&sensor);
                if let Some(hours) = shard.sensors.get_mut(&sensor)
                    && !hours.telling.holds_elements()
                    && hours.hours.get(&hour).is_some_and(|entry| entry.is_clean())
                    && let Some(entry) = hours.hours.remove(&hour)
                {
                    self.forget(&entry);
                }
            }
        }
        for shard in &self.shards {
            let mut shard = lock(shard);
            shard.sensors.retain(|_, hours| {
                let stays =
                    !hours.hours.is_empty() || hours.is_untold() || hours.telling.holds_elements();
                if !stays {
                    self.account(hours.bytes(), 0);
                }
                stays
            });
            if shard.sensors.capacity() > 4 * shard.sensors.len() + 64 {
                shard.sensors.shrink_to_fit();
            }
        }
        // Only then: who waits for room asks for a flush when there is none, and
        // that leads here again.
        if self.bytes() < held {
            self.freed.notify_waiters();
        }
    }

    pub(super) fn forget(&self, entry: &Entry) {
        self.account(entry.bytes() + super::entry::ENTRY_BYTES, 0);
    }

    /// When the oldest reading that the store does not hold came, by the clock's
    /// elapsed time.
    #[must_use]
    pub fn oldest_pending(&self) -> Option<Duration> {
        let oldest_of = |entry: &Entry| {
            let pending = (entry.pending() > 0).then_some(entry.pending_since);
            let flight = entry.flight.as_ref().map(|flight| flight.since);
            pending.into_iter().chain(flight).min()
        };
        self.least(oldest_of)
    }

    /// The least that entries have to say.
    fn least(&self, of: impl Fn(&Entry) -> Option<Duration>) -> Option<Duration> {
        self.shards
            .iter()
            .filter_map(|shard| {
                let shard = lock(shard);
                let entries = shard.sensors.values().flat_map(|h| h.hours.values());
                entries.filter_map(|entry| of(entry)).min()
            })
            .min()
    }
}
