//! What is remembered, in the order in which the journal got it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use crate::journal::KeyedAnswer;
use crate::model::Micros;

/// Bytes that an entry takes beside its key and its answer: the two maps and
/// what they point to, rounded up.
const ENTRY_BYTES: usize = 320;

/// Where an entry came from. Later ones are greater: what the log of keys held
/// at the start was in the journal before anything that is noted since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// The log of keys, at the start.
    Log(u64),
    /// The journal.
    Journal(u64),
}

/// An answer that is remembered.
#[derive(Debug)]
pub(super) struct Remembered {
    pub(super) place: Place,
    pub(super) received_at: Micros,
    pub(super) keyed: Box<KeyedAnswer>,
    /// The clock's elapsed time at which it is forgotten.
    expires: Duration,
}

/// How much is remembered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) keys_max: usize,
    pub(super) bytes_max: usize,
    pub(super) age_max: Duration,
}

/// The moment of a call: what the clock says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    pub(super) now: Micros,
    pub(super) elapsed: Duration,
}

/// The answers that are remembered.
#[derive(Debug)]
pub(super) struct Table {
    bounds: Bounds,
    by_key: HashMap<Box<str>, Place>,
    in_order: BTreeMap<Place, Arc<Remembered>>,
    bytes: usize,
    /// What lies below is in the log of keys.
    unsaved_from: Place,
}

impl Table {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            by_key: HashMap::new(),
            in_order: BTreeMap::new(),
            bytes: 0,
            unsaved_from: Place::Journal(0),
        }
    }

    /// Remembers an answer. Its age counts by the wall clock up to now, and by
    /// the clock that never steps from now on. Answers how many others were
    /// forgotten because a bound was reached.
    pub(super) fn insert(
        &mut self,
        place: Place,
        received_at: Micros,
        keyed: Box<KeyedAnswer>,
        at: Moment,
    ) -> u64 {
        if let Some(known) = self.by_key.get(&keyed.key).copied() {
            let is_same = self
                .in_order
                .get(&known)
                .is_some_and(|known| known.received_at == received_at && known.keyed == keyed);
            // The journal has it still, the log of keys has it already.
            if is_same {
                return 0;
            }
            self.remove(known);
        }
        self.sweep(at.elapsed);
        // Of the future, for a clock that stepped back since: as if of now.
        let age = u64::try_from(at.now.since(received_at)).unwrap_or(0);
        let age_max = self.bounds.age_max;
        let left = age_max.saturating_sub(Duration::from_micros(age));
        if left.is_zero() {
            return 0;
        }
        self.bytes += entry_bytes(&keyed);
        self.by_key.insert(keyed.key.clone(), place);
        let remembered = Remembered {
            place,
            received_at,
            keyed,
            expires: at.elapsed.saturating_add(left),
        };
        self.in_order.insert(place, Arc::new(remembered));
        let mut forgotten = 0;
        while self.in_order.len() > self.bounds.keys_max || self.bytes > self.bounds.bytes_max {
            let Some(oldest) = self.in_order.keys().next().copied() else {
                break;
            };
            self.remove(oldest);
            forgotten += 1;
        }
        forgotten
    }

    fn remove(&mut self, place: Place) {
        if let Some(entry) = self.in_order.remove(&place) {
            self.by_key.remove(&entry.keyed.key);
            self.bytes -= entry_bytes(&entry.keyed);
        }
    }

    /// Forgets the oldest as long as they are too old.
    pub(super) fn sweep(&mut self, elapsed: Duration) {
        while let Some(oldest) = self.in_order.first_entry() {
            if elapsed < oldest.get().expires {
                return;
            }
            let place = *oldest.key();
            self.remove(place);
        }
    }

    /// What is remembered of `key`.
    pub(super) fn get(&self, key: &str, elapsed: Duration) -> Option<&Arc<Remembered>> {
        let remembered = self.in_order.get(self.by_key.get(key)?)?;
        (elapsed < remembered.expires).then_some(remembered)
    }

    pub(super) fn holds(&self, place: Place) -> bool {
        self.in_order.contains_key(&place)
    }

    pub(super) fn len(&self) -> usize {
        self.in_order.len()
    }

    /// What only the journal has, in order.
    pub(super) fn unsaved(&self) -> impl Iterator<Item = &Arc<Remembered>> {
        self.in_order.range(self.unsaved_from..).map(|(_, e)| e)
    }

    /// The log of keys has everything up to `place`.
    pub(super) fn saved(&mut self, place: Place) {
        if let Place::Journal(seq) = place {
            self.unsaved_from = Place::Journal(seq + 1);
        }
    }

    /// The first record of the journal that must stay.
    pub(super) fn lowest_unsaved(&self) -> Option<u64> {
        match self.unsaved().next()?.place {
            Place::Journal(seq) => Some(seq),
            Place::Log(_) => None,
        }
    }
}

fn entry_bytes(keyed: &KeyedAnswer) -> usize {
    // The key lies in both maps.
    ENTRY_BYTES + keyed.bytes() + keyed.key.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::record::DIGEST_BYTES;

    const HOUR: Duration = Duration::from_secs(3600);

    fn table(keys_max: usize) -> Table {
        Table::new(Bounds {
            keys_max,
            bytes_max: 1 << 20,
            age_max: 24 * HOUR,
        })
    }

    fn keyed(key: &str, answer: usize) -> Box<KeyedAnswer> {
        Box::new(KeyedAnswer {
            key: key.into(),
            digest: [1; DIGEST_BYTES],
            answer: vec![7; answer].into(),
        })
    }

    /// `hours` by both clocks.
    fn at(hours: u32) -> Moment {
        stepped(hours, 0)
    }

    /// The wall clock is `ahead` hours ahead of the other one.
    fn stepped(hours: u32, ahead: i64) -> Moment {
        let wall = (i64::from(hours) + ahead) * 3_600_000_000;
        Moment {
            now: micros(wall),
            elapsed: HOUR * hours,
        }
    }

    fn micros(at: i64) -> Micros {
        Micros::new(1_777_629_600_000_000 + at).unwrap()
    }

    fn received(hours: i64) -> Micros {
        micros(hours * 3_600_000_000)
    }

    #[test]
    fn at_the_bound_the_oldest_is_forgotten() {
        let mut table = table(3);
        for seq in 1..=5 {
            let key = format!("k{seq}");
            let forgotten = table.insert(Place::Journal(seq), received(0), keyed(&key, 1), at(0));
            assert_eq!(forgotten, u64::from(seq > 3));
        }
        let known = |key: &str| table.get(key, Duration::ZERO).is_some();
        assert!(!known("k1") && !known("k2"));
        assert!(known("k3") && known("k4") && known("k5"));
        assert_eq!(table.len(), 3);
        assert_eq!(
            table.lowest_unsaved(),
            Some(3),
            "what is forgotten holds nothing"
        );
    }

    #[test]
    fn at_the_bound_in_bytes_the_oldest_is_forgotten_too() {
        let mut table = table(1000);
        let mut forgotten = 0;
        for seq in 1..=30 {
            let answer = keyed(&format!("k{seq}"), 60 << 10);
            forgotten += table.insert(Place::Journal(seq), received(0), answer, at(0));
        }
        assert_eq!((table.len(), forgotten), (16, 14));
        assert!(table.bytes <= 1 << 20);
        assert!(table.get("k15", HOUR).is_some() && table.get("k14", HOUR).is_none());
    }

    #[test]
    fn a_key_is_known_for_its_age_and_no_longer() {
        let mut table = table(9);
        table.insert(Place::Journal(1), received(0), keyed("a", 1), at(0));
        table.insert(Place::Journal(2), received(1), keyed("b", 1), at(1));
        assert!(table.get("a", HOUR * 23).is_some());
        assert!(table.get("a", HOUR * 24).is_none());
        assert!(table.get("b", HOUR * 24).is_some());
        table.sweep(HOUR * 24);
        assert_eq!(table.len(), 1);
        assert!(!table.holds(Place::Journal(1)));
    }

    #[test]
    fn what_a_start_finds_has_the_rest_of_its_age_left() {
        let mut table = table(9);
        let start = stepped(0, 23);
        table.insert(Place::Log(1), received(-1), keyed("old", 1), start);
        table.insert(Place::Log(2), received(0), keyed("young", 1), start);
        assert_eq!(table.len(), 1, "24 hours are over");
        assert!(table.get("young", HOUR - Duration::from_secs(1)).is_some());
        assert!(table.get("young", HOUR).is_none());
    }

    #[test]
    fn a_clock_that_steps_forgets_nothing() {
        let mut table = table(9);
        table.insert(Place::Journal(1), received(0), keyed("a", 1), at(0));
        // A year ahead, and back.
        let ahead = stepped(1, 8760);
        table.insert(Place::Journal(2), received(8761), keyed("b", 1), ahead);
        table.insert(Place::Journal(3), received(2), keyed("c", 1), at(2));
        for key in ["a", "b", "c"] {
            assert!(table.get(key, HOUR * 23).is_some(), "{key}");
        }
        // A start after it stepped back.
        let mut table = self::table(9);
        table.insert(Place::Log(1), received(8761), keyed("b", 1), at(0));
        assert!(table.get("b", HOUR * 23).is_some());
        assert!(table.get("b", HOUR * 24).is_none());
    }

    #[test]
    fn what_the_log_of_keys_has_is_not_held_in_the_journal() {
        let mut table = table(9);
        table.insert(Place::Log(1), received(0), keyed("a", 1), at(0));
        table.insert(Place::Log(2), received(0), keyed("b", 1), at(0));
        for (seq, key) in [(5, "a"), (6, "b")] {
            table.insert(Place::Journal(seq), received(0), keyed(key, 1), at(0));
        }
        assert_eq!((table.len(), table.lowest_unsaved()), (2, None));
        table.insert(Place::Journal(7), received(1), keyed("c", 1), at(1));
        table.insert(Place::Journal(9), received(1), keyed("d", 1), at(1));
        assert_eq!(table.lowest_unsaved(), Some(7));
        table.saved(Place::Journal(7));
        assert_eq!(table.lowest_unsaved(), Some(9));
        table.saved(Place::Journal(9));
        assert_eq!(table.lowest_unsaved(), None);
    }

    #[test]
    fn the_last_use_of_a_key_is_the_one_that_counts() {
        let mut table = table(9);
        let other = |answer| keyed("a", answer);
        table.insert(Place::Log(1), received(0), other(1), at(0));
        table.insert(Place::Log(2), received(30), other(2), at(0));
        // The journal still has both.
        table.insert(Place::Journal(4), received(0), other(1), at(0));
        table.insert(Place::Journal(8), received(30), other(2), at(0));
        let remembered = table.get("a", Duration::ZERO).unwrap();
        assert_eq!(remembered.keyed.answer.len(), 2);
        assert_eq!((table.len(), table.by_key.len()), (1, 1));
        assert_eq!(table.lowest_unsaved(), Some(8));
    }
}
