//! The order in which a fleet's readings are posted: batches as a gateway makes
//! them, late readings after their time, some batches twice.

use std::collections::VecDeque;

use crate::fleet::{Fleet, Purpose, Reading};

/// Batches between a batch and its copy, so that the copy meets a server that
/// may have moved the first to its store already.
const COPY_AFTER_BATCHES: u64 = 8;

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// Its readings, at least one.
    pub readings: Vec<Reading>,
    /// What it is for.
    pub kind: Kind,
}

/// What a batch is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Readings in the order of time.
    Fresh,
    /// Readings that were held back.
    Late,
    /// The same as an earlier one.
    Copy,
}

/// The batches of a fleet in order; the same every time.
#[derive(Debug)]
pub struct Plan<'a> {
    fleet: &'a Fleet,
    next: u64,
    number: u64,
    held: VecDeque<Reading>,
    copies: VecDeque<(u64, Vec<Reading>)>,
}

impl<'a> Plan<'a> {
    /// From the first batch on.
    #[must_use]
    pub fn new(fleet: &'a Fleet) -> Self {
        Self {
            fleet,
            next: 0,
            number: 0,
            held: VecDeque::new(),
            copies: VecDeque::new(),
        }
    }

    fn copy(&mut self, due: bool) -> Option<Batch> {
        let (number, _) = self.copies.front()?;
        if due && *number > self.number {
            return None;
        }
        let (_, readings) = self.copies.pop_front()?;
        Some(Batch {
            readings,
            kind: Kind::Copy,
        })
    }

    fn late(&mut self, due: bool) -> Option<Batch> {
        let batch = self.fleet.batch;
        if due {
            let tick = self.fleet.reading(self.next).tick;
            let last = self.held.get(batch - 1)?;
            if last.tick + self.fleet.late_by_ticks > tick {
                return None;
            }
        }
        let readings: Vec<Reading> = self.held.drain(..batch.min(self.held.len())).collect();
        (!readings.is_empty()).then_some(Batch {
            readings,
            kind: Kind::Late,
        })
    }

    fn fresh(&mut self) -> Option<Batch> {
        let mut readings = Vec::with_capacity(self.fleet.batch);
        while self.next < self.fleet.readings && readings.len() < self.fleet.batch {
            let reading = self.fleet.reading(self.next);
            let (sensor, tick) = (u64::from(reading.sensor), reading.tick);
            let late = self
                .fleet
                .decides(self.fleet.late, Purpose::Late, sensor, tick);
            if late {
                self.held.push_back(reading);
            } else {
                readings.push(reading);
            }
            self.next += 1;
        }
        (!readings.is_empty()).then_some(Batch {
            readings,
            kind: Kind::Fresh,
        })
    }
}

impl Iterator for Plan<'_> {
    type Item = Batch;

    fn next(&mut self) -> Option<Batch> {
        let batch = self
            .copy(true)
            .or_else(|| self.late(true))
            .or_else(|| self.fresh())
            .or_else(|| self.late(false))
            .or_else(|| self.copy(false))?;
        let twice = self
            .fleet
            .decides(self.fleet.duplicates, Purpose::Copy, self.number, 0);
        if batch.kind != Kind::Copy && twice {
            let due = self.number + COPY_AFTER_BATCHES;
            self.copies.push_back((due, batch.readings.clone()));
        }
        self.number += 1;
        Some(batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::tests::small;

    fn messy() -> Fleet {
        Fleet {
            late: 0.1,
            duplicates: 0.2,
            ..small()
        }
    }

    #[test]
    fn a_plan_is_the_same_every_time() {
        let fleet = messy();
        assert!(Plan::new(&fleet).eq(Plan::new(&fleet)));
    }

    #[test]
    fn every_reading_is_sent_once_beside_the_copies() {
        let fleet = messy();
        let mut sent: Vec<Reading> = Plan::new(&fleet)
            .filter(|batch| batch.kind != Kind::Copy)
            .flat_map(|batch| batch.readings)
            .collect();
        sent.sort_unstable_by_key(|reading| (reading.tick, reading.sensor));
        let all: Vec<Reading> = (0..fleet.readings)
            .map(|place| fleet.reading(place))
            .collect();
        assert_eq!(sent, all);
    }

    #[test]
    fn late_readings_and_copies_come_in_their_fractions() {
        let fleet = Fleet {
            readings: 30_000,
            ..messy()
        };
        let count = |kind| {
            let of_kind = Plan::new(&fleet).filter(|batch| batch.kind == kind);
            of_kind.map(|batch| batch.readings.len()).sum::<usize>()
        };
        assert!((2700..3300).contains(&count(Kind::Late)));
        assert!((5000..7000).contains(&count(Kind::Copy)));
    }

    #[test]
    fn late_readings_are_held_back_as_long_as_asked() {
        let fleet = messy();
        let mut newest = 0;
        for batch in Plan::new(&fleet) {
            let ticks = batch.readings.iter().map(|reading| reading.tick);
            match batch.kind {
                Kind::Fresh => newest = newest.max(ticks.max().unwrap()),
                Kind::Late if newest + 1 < fleet.ticks() => {
                    assert!(ticks.max().unwrap() + fleet.late_by_ticks <= newest + 1);
                }
                Kind::Late | Kind::Copy => {}
            }
        }
        assert_eq!(newest + 1, fleet.ticks());
    }
}
