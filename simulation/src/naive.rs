//! What must come of it: plain maps, the first value in journal order wins.

use std::collections::{BTreeMap, BTreeSet};

use hourglass::bucket::Computed;
use hourglass::model::{MeasureName, Micros, RecentReading};
use hourglass::store::StoredBucket;

use crate::action::{Body, Deletion, Item};

/// Sensor, microseconds since the epoch, measure.
pub type Identity = (String, i64, String);

pub type Values = BTreeMap<Identity, f64>;

/// The values of a body, in its order.
pub fn values_of(body: &Body) -> Vec<(Identity, f64)> {
    let mut all = Vec::new();
    for item in body {
        if let Item::Reading { sensor, at, values } = item {
            let identity = |measure: &str| (sensor.to_string(), *at, measure.to_owned());
            all.extend(values.iter().map(|(m, v)| (identity(m), *v)));
        }
    }
    all
}

/// The values of a stored bucket, in its order, parts and elements joined.
pub fn values_in(bucket: &StoredBucket) -> Vec<(Identity, f64)> {
    let mut all = Vec::new();
    for element in bucket.parts.iter().flat_map(|part| part.elements.iter()) {
        let at = bucket.key.hour.at(element.offset).get();
        let sensor = bucket.key.sensor.as_str();
        let values = element.values();
        all.extend(values.map(|(m, v)| ((sensor.to_owned(), at, m.as_str().to_owned()), v)));
    }
    all
}

/// The newest readings of a sensor that its record keeps.
pub const RECENT_READINGS: usize = 3;

/// The newest readings of each sensor, from all its buckets.
pub(super) fn newest_in(buckets: &[StoredBucket]) -> BTreeMap<String, Vec<RecentReading>> {
    let mut instants: BTreeMap<String, BTreeMap<i64, BTreeMap<String, f64>>> = BTreeMap::new();
    for ((sensor, at, measure), value) in buckets.iter().flat_map(values_in) {
        let values = instants.entry(sensor).or_default().entry(at).or_default();
        values.insert(measure, value);
    }
    let reading = |(at, values): (i64, BTreeMap<String, f64>)| RecentReading {
        at: Micros::new(at).unwrap(),
        values: values
            .into_iter()
            .map(|(measure, value)| (MeasureName::new(&measure).unwrap(), value))
            .collect(),
    };
    let newest = |(sensor, instants): (String, BTreeMap<_, _>)| {
        let newest = instants.into_iter().rev().take(RECENT_READINGS);
        (sensor, newest.map(reading).collect())
    };
    instants.into_iter().map(newest).collect()
}

impl Deletion {
    pub fn is_about(&self, (sensor, at, _): &Identity) -> bool {
        sensor == self.sensor && (self.from..self.to).contains(at)
    }
}

/// A record of the journal.
#[derive(Debug, Clone)]
pub enum Durable {
    Values(Vec<(Identity, f64)>),
    Deletion(Deletion),
    /// The deletion of that sequence is done.
    Done(u64),
}

/// The journal as it must be.
#[derive(Debug, Default)]
pub struct Journalled {
    /// The durable records; the first has sequence 1.
    pub records: Vec<Durable>,
    /// Written but not known to be durable: found whole by the next start, or
    /// not at all.
    pub unsure: Vec<Durable>,
    /// Sequences of the acknowledged records.
    pub acknowledged: BTreeSet<u64>,
    /// The first value of each identity, in journal order, since it was deleted.
    pub first: Values,
    /// Deletions that no record says are done, by sequence.
    pub open: BTreeMap<u64, Deletion>,
}

impl Journalled {
    pub fn durable(&mut self, record: Durable) {
        match &record {
            Durable::Values(values) => {
                for (identity, value) in values {
                    self.first.entry(identity.clone()).or_insert(*value);
                }
            }
            Durable::Deletion(deletion) => {
                self.first
                    .retain(|identity, _| !deletion.is_about(identity));
                self.open.insert(self.end(), *deletion);
            }
            Durable::Done(seq) => {
                self.open.remove(seq);
            }
        }
        self.records.push(record);
    }

    /// The deletions among the records of these sequences.
    pub fn deletions(&self, seqs: std::ops::Range<u64>) -> impl Iterator<Item = &Deletion> {
        seqs.filter_map(|seq| match &self.records[seq as usize - 1] {
            Durable::Deletion(deletion) => Some(deletion),
            _ => None,
        })
    }

    /// Sequence behind the last durable record.
    pub fn end(&self) -> u64 {
        self.records.len() as u64 + 1
    }

    /// The values of a record.
    pub fn record(&self, seq: u64) -> &[(Identity, f64)] {
        match &self.records[seq as usize - 1] {
            Durable::Values(values) => values,
            Durable::Deletion(_) | Durable::Done(_) => &[],
        }
    }
}

/// What one process can show: what the store held when it started, what it
/// applied since, and what others wrote since.
#[derive(Debug, Default)]
pub struct View {
    pub base: Values,
    pub own: Vec<(Identity, f64)>,
    /// Deletions applied since, each with how much of `own` came before it.
    pub deleted: Vec<(usize, Deletion)>,
    pub others: Vec<(Identity, f64)>,
}

/// A moment: how much of `own` and of `others` there was.
pub type Moment = (usize, usize);

impl View {
    pub fn now(&self) -> Moment {
        (self.own.len(), self.others.len())
    }

    /// What a reader sees at a moment. What others wrote is in the store, and
    /// the first flushed value wins.
    pub fn at(&self, moment: Moment, of: impl Fn(&Identity) -> bool) -> Values {
        self.about(moment, of).at(moment)
    }

    /// Whether `is` holds of what was there at some moment from `start` to
    /// `end`.
    pub fn any_moment(
        &self,
        start: Moment,
        end: Moment,
        of: impl Fn(&Identity) -> bool,
        is: impl Fn(&Values) -> bool,
    ) -> bool {
        let about = self.about(end, of);
        // Between these nothing changes.
        let (own, others) = (
            about.places(start.0, end.0, &about.own),
            about.places(start.1, end.1, &about.others),
        );
        let mut moments = own
            .iter()
            .flat_map(|i| others.iter().map(move |j| (*i, *j)));
        moments.any(|moment| is(&about.at(moment)))
    }

    fn about(&self, end: Moment, of: impl Fn(&Identity) -> bool) -> About<'_> {
        let events = |events: &'_ [(Identity, f64)]| -> Vec<usize> {
            let is_meant = |place: &usize| of(&events[*place].0);
            (0..events.len()).filter(is_meant).collect()
        };
        About {
            view: self,
            base: self.base.iter().filter(|(id, _)| of(id)).collect(),
            own: events(&self.own[..end.0]),
            others: events(&self.others[..end.1]),
        }
    }
}

/// A view of some identities alone.
struct About<'a> {
    view: &'a View,
    base: Vec<(&'a Identity, &'a f64)>,
    /// Places in `own` of the view.
    own: Vec<usize>,
    /// Places in `others` of the view.
    others: Vec<usize>,
}

impl About<'_> {
    /// The moments from `start` to `end` at which something is new.
    fn places(&self, start: usize, end: usize, events: &[usize]) -> BTreeSet<usize> {
        let behind = events.iter().map(|place| place + 1);
        let deletions = self.view.deleted.iter().map(|(place, _)| *place);
        let all = behind.chain(deletions).chain([start]);
        all.filter(|place| (start..=end).contains(place)).collect()
    }

    fn at(&self, (own, others): Moment) -> Values {
        let mut values = Values::new();
        let mut add = |identity: &Identity, value: f64| {
            values.entry(identity.clone()).or_insert(value);
        };
        for (identity, value) in &self.base {
            add(identity, **value);
        }
        for place in self.others.iter().take_while(|place| **place < others) {
            let (identity, value) = &self.view.others[*place];
            add(identity, *value);
        }
        let mut events = self.own.iter().take_while(|place| **place < own).peekable();
        let deleted = self.view.deleted.iter().filter(|(place, _)| *place <= own);
        let steps = deleted.map(|(place, deletion)| (*place, Some(deletion)));
        for (before, deletion) in steps.chain([(own, None)]) {
            while let Some(place) = events.next_if(|place| **place < before) {
                let (identity, value) = &self.view.own[*place];
                values.entry(identity.clone()).or_insert(*value);
            }
            if let Some(deletion) = deletion {
                values.retain(|identity, _| !deletion.is_about(identity));
            }
        }
        values
    }
}

/// How many instants `values` have.
pub fn instants(values: &Values) -> usize {
    let instants: BTreeSet<i64> = values.keys().map(|(_, at, _)| *at).collect();
    instants.len()
}

/// Whether `computed` counts `instants` and is else what `values` (of one hour)
/// say: counts and extremes exactly, sums within 1e-12 of the sum of magnitudes.
pub fn says(computed: &Computed, instants: usize, values: &Values) -> bool {
    let mut measures: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for ((_, _, measure), value) in values {
        measures.entry(measure).or_default().push(*value);
    }
    computed.count == instants as u64
        && computed.measures.len() == measures.len()
        && computed.measures.iter().all(|(name, stats)| {
            measures.get(name.as_str()).is_some_and(|values| {
                let magnitude: f64 = values.iter().map(|v| v.abs()).sum();
                let sum: f64 = values.iter().sum();
                stats.count == values.len() as u64
                    && stats.min == values.iter().copied().fold(f64::INFINITY, f64::min)
                    && stats.max == values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
                    && (stats.sum.value() - sum).abs() <= 1e-12 * magnitude
            })
        })
}

/// The hour that an instant falls into, in hours since the epoch.
pub fn hour_of(at: i64) -> i32 {
    Micros::new(at).unwrap().hour().hours()
}
