//! The buffer's bound, its byte count, and what it forgets.

use std::collections::HashMap;
use std::time::Duration;

use hourglass::buffer::{Buffer, Lease, RetryPauses, Told, Untold};
use hourglass::model::{Batch, BucketKey, HourStart, MeasureName, SensorId, TimeRange};
use proptest::prelude::*;

use super::builders::{
    HOUR, buffer, everything, key, learn_none, now, reading, readings, tagged, tell,
};

const ZERO: Duration = Duration::ZERO;

fn apply(buffer: &Buffer, seq: u64, sensor: &str, hour: i32, offset: u32) {
    buffer.apply(seq, now(), &reading(sensor, hour, offset, 1.0), ZERO);
}

fn confirm_all(buffer: &Buffer) {
    for lease in buffer.lease(&everything(ZERO), usize::MAX) {
        assert!(buffer.confirm(&lease.write.key, lease.write.target));
        tell(buffer, &[lease.write.key.sensor]);
    }
}

#[test]
fn at_its_bound_it_has_no_room_but_an_empty_one_takes_any_batch() {
    let buffer = buffer(2000);
    assert!(buffer.has_room(10_000));
    apply(&buffer, 1, "S1", HOUR, 1);
    assert!(buffer.has_room(1000));
    assert!(!buffer.has_room(10_000));
    buffer.apply(2, now(), &readings("S1", HOUR, 2..200, 1.0), ZERO);
    assert!(buffer.bytes() > 2000);
    assert!(!buffer.has_room(1));
    confirm_all(&buffer);
    assert!(buffer.has_room(10_000), "nothing is pending");
}

#[test]
fn only_buckets_that_are_wholly_stored_are_forgotten_the_oldest_hour_first() {
    let buffer = buffer(16_000);
    for hour in 0..10 {
        for sensor in ["S1", "S2"] {
            buffer.apply(1, now(), &readings(sensor, HOUR - hour, 0..40, 1.0), ZERO);
        }
    }
    confirm_all(&buffer);
    apply(&buffer, 2, "S1", HOUR - 9, 3_000);
    assert!(buffer.bytes() > 16_000);
    buffer.evict(ZERO, Duration::from_secs(1));
    assert!(buffer.bytes() <= 12_000);
    let hours = |sensor| {
        let held = buffer.held(&key(sensor, HOUR).sensor, TimeRange::ALL.hours());
        let hour = |(hour, _): (HourStart, _)| HOUR - hour.hours();
        held.into_iter().map(hour).collect::<Vec<i32>>()
    };
    let (mut first, second) = (hours("S1"), hours("S2"));
    assert_eq!(first.remove(0), 9, "it has something pending");
    for newest_first in [first, second] {
        let ages: Vec<i32> = newest_first.into_iter().rev().collect();
        assert!(!ages.is_empty());
        assert_eq!(ages, (0..ages.len() as i32).collect::<Vec<_>>());
    }
    buffer.evict(Duration::from_secs(2), Duration::from_secs(1));
    assert_eq!(buffer.buckets(), 1, "idle ones go whatever is held");
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Apply {
        sensor: usize,
        hour: i32,
        offset: u32,
        value: bool,
    },
    Lease {
        most: usize,
    },
    Confirm,
    Rebase,
    SetAside,
    Take,
    Settle {
        fenced: bool,
    },
    Learn,
    Evict {
        idle: bool,
    },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0usize..3, 0i32..3, 0u32..20, any::<bool>()).prop_map(
            |(sensor, hour, offset, value)| Step::Apply { sensor, hour, offset, value }
        ),
        3 => (1usize..4).prop_map(|most| Step::Lease { most }),
        2 => Just(Step::Confirm),
        1 => Just(Step::Rebase),
        1 => Just(Step::SetAside),
        1 => Just(Step::Take),
        1 => any::<bool>().prop_map(|fenced| Step::Settle { fenced }),
        1 => Just(Step::Learn),
        1 => any::<bool>().prop_map(|idle| Step::Evict { idle }),
    ]
}

/// Sequences by sensor.
type Settles = Vec<(SensorId, Vec<u64>)>;

/// The buffer with what a flusher would hold, and for each bucket the sequences
/// of the values that are not confirmed, in order of arrival.
struct Model {
    buffer: Buffer,
    seq: u64,
    out: Vec<Lease>,
    /// Sequences of what is confirmed and not told.
    confirmed: HashMap<SensorId, Vec<u64>>,
    /// What rounds are telling, with the sequences that it settles.
    telling: Vec<(Untold, Settles)>,
    unconfirmed: HashMap<BucketKey, Vec<u64>>,
    stored: HashMap<BucketKey, usize>,
}

impl Model {
    fn confirm(&mut self, lease: &Lease) {
        let write = &lease.write;
        assert!(self.buffer.confirm(&write.key, write.target));
        let waiting = self.unconfirmed.get_mut(&write.key).unwrap();
        let gone: Vec<u64> = waiting.drain(..write.elements.len()).collect();
        *self.stored.entry(write.key.clone()).or_default() += gone.len();
        let untold = self.confirmed.entry(write.key.sensor.clone());
        untold.or_default().push(gone[0]);
    }

    fn take(&mut self) {
        let sensors = ["S1", "S2", "S3"].map(|name| key(name, HOUR).sensor);
        let untold = self.buffer.take_untold(&sensors);
        let told = untold.told.iter().map(|told| &told.sensor);
        let stale = untold.stale.iter().map(|stale| &stale.sensor);
        let settles = told.chain(stale).map(|sensor| {
            let pins = self.confirmed.remove(sensor).unwrap_or_default();
            (sensor.clone(), pins)
        });
        let settles = settles.collect();
        self.telling.push((untold, settles));
    }

    fn settle(&mut self, outcome: Told) {
        let Some((untold, settles)) = self.telling.pop() else {
            return;
        };
        let is_settled = |sensor: &SensorId| {
            outcome == Told::Settled && untold.told.iter().any(|told| told.sensor == *sensor)
        };
        for (sensor, pins) in settles {
            if !is_settled(&sensor) {
                self.confirmed.entry(sensor).or_default().extend(pins);
            }
        }
        for stale in &untold.stale {
            self.buffer.made_anew(stale, None, &[]);
        }
        let told = untold.told.into_iter().map(|told| (told, outcome));
        // What is left is taken by a later step.
        drop(self.buffer.settle(&told.collect::<Vec<_>>()));
    }

    fn run(&mut self, step: Step) {
        match step {
            Step::Apply {
                sensor,
                hour,
                offset,
                value,
            } => {
                self.seq += 1;
                let name = ["S1", "S2", "S3"][sensor];
                let before = self.buffer.pending_values();
                // Some come under one of many origins, others under none.
                let (hour, number) = (HOUR - hour, f64::from(u8::from(value)));
                let batch = match offset % 3 {
                    0 => reading(name, hour, offset, number),
                    core => tagged(name, hour, offset, number, &format!("{core}{value}")),
                };
                self.buffer.apply(self.seq, now(), &batch, ZERO);
                if self.buffer.pending_values() > before {
                    let waiting = self.unconfirmed.entry(key(name, hour));
                    waiting.or_default().push(self.seq);
                }
            }
            Step::Lease { most } => self.out.extend(self.buffer.lease(&everything(ZERO), most)),
            Step::Confirm => {
                if let Some(lease) = self.out.pop() {
                    self.confirm(&lease);
                }
            }
            Step::Rebase => {
                let is_new = |lease: &Lease| !self.stored.contains_key(&lease.write.key);
                if let Some(lease) = self.out.pop_if(|lease| is_new(lease)) {
                    let write = lease.write;
                    self.buffer.rebase(&write.key, write.target, None, now());
                }
            }
            Step::SetAside => {
                if let Some(Lease { write, .. }) = self.out.pop() {
                    let pauses = RetryPauses {
                        min: ZERO,
                        max: ZERO,
                    };
                    self.buffer
                        .set_aside(&write.key, write.target, ZERO, pauses, true);
                }
            }
            Step::Take => self.take(),
            Step::Settle { fenced: true } => self.settle(Told::Fenced),
            Step::Settle { fenced: false } => self.settle(Told::Settled),
            Step::Learn => learn_none(&self.buffer),
            Step::Evict { idle } => {
                let idle = if idle { ZERO } else { Duration::MAX };
                self.buffer.evict(ZERO, idle);
            }
        }
    }
}

proptest! {
    /// The low-water mark never passes a record with a value that is not
    /// confirmed, or whose confirmation is not settled; and once all is, nothing
    /// is pinned, and when all is forgotten no byte is counted.
    #[test]
    fn pins_hold_what_is_unflushed_and_bytes_return_to_zero(
        steps in proptest::collection::vec(step(), 0..120)
    ) {
        let mut model = Model {
            buffer: buffer(6_000),
            seq: 0,
            out: Vec::new(),
            confirmed: HashMap::new(),
            telling: Vec::new(),
            unconfirmed: HashMap::new(),
            stored: HashMap::new(),
        };
        for step in steps {
            model.run(step);
            let unconfirmed = model.unconfirmed.values().flatten().copied();
            let untold = model.confirmed.values().flatten().copied();
            let telling = model.telling.iter().flat_map(|(_, settles)| settles);
            let telling = telling.flat_map(|(_, pins)| pins).copied();
            let lowest = unconfirmed.chain(untold).chain(telling).min();
            if let Some(lowest) = lowest {
                prop_assert!(model.buffer.lowest_pinned().is_some_and(|pin| pin <= lowest));
            }
            let values: usize = model.unconfirmed.values().map(Vec::len).sum();
            prop_assert_eq!(model.buffer.pending_values(), values as u64);
        }
        while let Some(lease) = model.out.pop() {
            model.confirm(&lease);
        }
        for lease in model.buffer.lease(&everything(ZERO), usize::MAX) {
            model.confirm(&lease);
        }
        while !model.telling.is_empty() {
            model.settle(Told::Settled);
        }
        let sensors = ["S1", "S2", "S3"].map(|name| key(name, HOUR).sensor);
        tell(&model.buffer, &sensors);
        prop_assert!(model.unconfirmed.values().all(Vec::is_empty));
        prop_assert_eq!(model.buffer.lowest_pinned(), None);
        prop_assert_eq!(model.buffer.untold(usize::MAX), Vec::new());
        model.buffer.evict(ZERO, ZERO);
        prop_assert_eq!((model.buffer.bytes(), model.buffer.buckets()), (0, 0));
        prop_assert_eq!(model.buffer.pending_values(), 0);
    }
}

#[test]
fn a_batch_of_many_buckets_needs_room_for_each() {
    let buffer = buffer(100_000);
    buffer.apply(1, now(), &readings("S1", HOUR, 0..1, 1.0), Duration::ZERO);
    let mut batch = Batch::default();
    let sensor = batch.add_sensor(key("S2", HOUR).sensor);
    let measure = batch.add_measure(MeasureName::new("temp").unwrap());
    let mut add = |hour: i32, offset: u32| {
        batch.push_value(measure, 1.0);
        batch.finish_reading(sensor, HourStart::from_hours(hour).at(offset));
        buffer.has_room_for(&batch)
    };
    // Two hours that alternate are two buckets, not hundreds.
    assert!((0..300).all(|n| add(HOUR + n % 2, n.unsigned_abs())));
    assert!(
        !(0..300).all(|n| add(HOUR + n, 0)),
        "300 buckets are too many"
    );
}
