//! Refused values, kept for inspection: the newest, bounded in number and age.
//! One sensor has a part of the places at most, so that a device that sends
//! everything twice does not push out what others did.
//!
//! A value that came under another origin than the one its instant has is most
//! often of a second sensor, which a tag tells apart: that is said.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::model::{MeasureName, Micros, Origin, SensorId};

/// The log tells of such values this often at most.
const WARN_EVERY: Duration = Duration::from_secs(60);

/// One sensor has this part of all places at most.
const SENSOR_SHARE: usize = 4;

/// Sensors are counted for the log up to this many.
const WARN_SENSORS_MAX: usize = 1000;

/// A refused value.
#[derive(Debug, Clone, PartialEq)]
pub struct ConflictRecord {
    /// Whose.
    pub sensor: SensorId,
    /// Of which instant.
    pub at: Micros,
    /// Of which measure.
    pub measure: MeasureName,
    /// The value that stays.
    pub kept: f64,
    /// The value that was refused.
    pub refused: f64,
    /// When the refused value was received.
    pub received_at: Micros,
    /// Under which origin the value came that stays, where that is known.
    pub kept_from: Option<Arc<Origin>>,
    /// Under which origin the refused value came, where it has one.
    pub refused_from: Option<Arc<Origin>>,
}

impl ConflictRecord {
    /// Both origins, where they are known to be two.
    #[must_use]
    pub fn two_origins(&self) -> Option<(&Origin, &Origin)> {
        let (kept, refused) = (self.kept_from.as_deref()?, self.refused_from.as_deref()?);
        (kept != refused).then_some((kept, refused))
    }

    /// Which setting keeps both values, where they came under two origins.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let (kept, refused) = self.two_origins()?;
        let tags = kept.differing_tags(refused);
        if tags.is_empty() {
            return Some(
                "the measurement differs; line_protocol.measurement_prefix = true keeps both"
                    .to_owned(),
            );
        }
        let list = |quote: char| {
            let quoted = tags.iter().map(|tag| format!("{quote}{tag}{quote}"));
            quoted.collect::<Vec<_>>().join(", ")
        };
        Some(match tags.len() {
            1 => format!(
                "the tag {} differs and looks like a dimension; \
                 line_protocol.dimension_tags = [{}] keeps both",
                list('`'),
                list('"')
            ),
            _ => format!(
                "the tags {} differ and one looks like a dimension; \
                 with it in line_protocol.dimension_tags both are kept",
                list('`')
            ),
        })
    }
}

/// Values refused under another origin since the log told of them.
#[derive(Debug, Default)]
struct Untold {
    values: u64,
    sensors: HashSet<SensorId>,
    /// When the log told of some, by the clock's elapsed time.
    told: Option<Duration>,
}

/// What the log is to tell.
#[derive(Debug, PartialEq)]
pub(super) struct Warning {
    sensor: SensorId,
    values: u64,
    sensors: usize,
    hint: String,
}

impl Warning {
    pub(super) fn log(&self) {
        let Self {
            sensor,
            values,
            sensors,
            hint,
        } = self;
        tracing::warn!(%sensor, values, sensors, hint, "values are refused that came under other tags than the value their instant has");
    }
}

#[derive(Debug)]
pub(super) struct Conflicts {
    /// By arrival.
    records: BTreeMap<u64, ConflictRecord>,
    /// The places of each sensor's records, rising.
    by_sensor: HashMap<SensorId, VecDeque<u64>>,
    next: u64,
    kept_max: usize,
    sensor_max: usize,
    age_max: Duration,
    untold: Untold,
}

impl Conflicts {
    /// Keeps `kept_max` records, each for `age_max` from its receipt.
    pub(super) fn new(kept_max: usize, age_max: Duration) -> Self {
        Self {
            records: BTreeMap::new(),
            by_sensor: HashMap::new(),
            next: 0,
            kept_max,
            sensor_max: kept_max.div_ceil(SENSOR_SHARE),
            age_max,
            untold: Untold::default(),
        }
    }

    /// Keeps a record. At a bound the oldest one goes: of its sensor, or of all.
    pub(super) fn push(&mut self, record: ConflictRecord) {
        if self.kept_max == 0 {
            return;
        }
        while self.oldest_is_before(self.oldest_kept(record.received_at)) {
            self.pop_oldest();
        }
        let places = self.by_sensor.entry(record.sensor.clone()).or_default();
        if places.len() >= self.sensor_max
            && let Some(oldest) = places.pop_front()
        {
            self.records.remove(&oldest);
        }
        places.push_back(self.next);
        self.records.insert(self.next, record);
        self.next += 1;
        if self.records.len() > self.kept_max {
            self.pop_oldest();
        }
    }

    fn oldest_kept(&self, now: Micros) -> Micros {
        now.earlier_by(self.age_max)
    }

    fn oldest_is_before(&self, oldest_kept: Micros) -> bool {
        let oldest = self.records.first_key_value();
        oldest.is_some_and(|(_, record)| record.received_at < oldest_kept)
    }

    fn pop_oldest(&mut self) {
        let Some((_, record)) = self.records.pop_first() else {
            return;
        };
        if let Some(places) = self.by_sensor.get_mut(&record.sensor) {
            // The oldest of all is the oldest of its sensor.
            places.pop_front();
            if places.is_empty() {
                self.by_sensor.remove(&record.sensor);
            }
        }
    }

    /// Notes that a value was refused under another origin. Answers what the log
    /// is to tell of it and of those before, unless it told of some within the
    /// last minute.
    pub(super) fn note_two_origins(
        &mut self,
        record: &ConflictRecord,
        elapsed: Duration,
    ) -> Option<Warning> {
        self.untold.values += 1;
        if self.untold.sensors.len() < WARN_SENSORS_MAX {
            self.untold.sensors.insert(record.sensor.clone());
        }
        let told = self.untold.told;
        if told.is_some_and(|told| elapsed.saturating_sub(told) < WARN_EVERY) {
            return None;
        }
        let untold = std::mem::take(&mut self.untold);
        self.untold.told = Some(elapsed);
        Some(Warning {
            sensor: record.sensor.clone(),
            values: untold.values,
            sensors: untold.sensors.len(),
            hint: record.hint()?,
        })
    }

    /// The records that are not too old at `now`, of `sensor` or of all, the
    /// newest first.
    pub(super) fn newest_first(
        &self,
        sensor: Option<&SensorId>,
        now: Micros,
    ) -> Vec<ConflictRecord> {
        let oldest_kept = self.oldest_kept(now);
        let is_kept = |record: &&ConflictRecord| record.received_at >= oldest_kept;
        match sensor {
            None => {
                let records = self.records.values().rev();
                records.filter(is_kept).cloned().collect()
            }
            Some(sensor) => {
                let places = self.by_sensor.get(sensor).into_iter().flatten().rev();
                let records = places.filter_map(|place| self.records.get(place));
                records.filter(is_kept).cloned().collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::model::HourStart;

    use super::*;

    fn record(sensor: &str, kept: &[(&str, &str)], refused: &[(&str, &str)]) -> ConflictRecord {
        let origin = |tags: &[(&str, &str)]| {
            let (origin, _) = Origin::new("cpu", tags.iter().copied());
            Some(Arc::new(origin))
        };
        ConflictRecord {
            sensor: SensorId::new(sensor).unwrap(),
            at: HourStart::from_hours(1).start(),
            measure: MeasureName::new("usage").unwrap(),
            kept: 1.0,
            refused: 2.0,
            received_at: HourStart::from_hours(1).start(),
            kept_from: origin(kept),
            refused_from: origin(refused),
        }
    }

    #[test]
    fn the_hint_names_the_tags_that_differ_and_the_setting() {
        let hint = |kept: &[_], refused: &[_]| record("d1", kept, refused).hint();
        let host = ("host", "h");
        assert_eq!(hint(&[host], &[host]), None);
        let one = hint(&[("core", "0"), host], &[("core", "1"), host]).unwrap();
        assert!(one.contains("tag `core` differs"), "{one}");
        assert!(
            one.contains(r#"line_protocol.dimension_tags = ["core"]"#),
            "{one}"
        );
        let two = hint(&[("core", "0"), host], &[("core", "1"), ("room", "4")]).unwrap();
        assert!(two.contains("tags `core`, `host`, `room` differ"), "{two}");
        assert!(two.contains("line_protocol.dimension_tags"), "{two}");

        let mut other = record("d1", &[host], &[host]);
        other.refused_from = Some(Arc::new(Origin::new("mem", [host]).0));
        let measurement = other.hint().unwrap();
        assert!(measurement.contains("line_protocol.measurement_prefix = true"));
        other.kept_from = None;
        assert_eq!(other.hint(), None, "nothing is known of the other side");
    }

    #[test]
    fn the_log_tells_once_a_minute_with_all_that_came_since() {
        let mut conflicts = Conflicts::new(0, Duration::MAX);
        let mut at = |seconds: u64, sensor: &str| {
            let record = record(sensor, &[("core", "0")], &[("core", "1")]);
            let warning = conflicts.note_two_origins(&record, Duration::from_secs(seconds));
            warning.map(|warning| (warning.values, warning.sensors))
        };
        assert_eq!(at(5, "d1"), Some((1, 1)));
        assert_eq!(at(30, "d1"), None);
        assert_eq!(at(31, "d2"), None);
        assert_eq!(at(64, "d2"), None);
        assert_eq!(at(65, "d3"), Some((4, 3)));
        assert_eq!(at(66, "d3"), None);
    }

    fn refused(conflicts: &Conflicts, sensor: Option<&str>, now: Micros) -> Vec<f64> {
        let sensor = sensor.map(|id| SensorId::new(id).unwrap());
        let records = conflicts.newest_first(sensor.as_ref(), now).into_iter();
        records.map(|record| record.refused).collect()
    }

    fn push(conflicts: &mut Conflicts, sensor: &str, refused: f64, seconds: i64) {
        let mut record = record(sensor, &[], &[]);
        record.refused = refused;
        record.received_at = record.received_at.saturating_add(seconds * 1_000_000);
        conflicts.push(record);
    }

    #[test]
    fn one_sensor_does_not_push_out_what_others_did() {
        let now = HourStart::from_hours(1).start();
        let mut conflicts = Conflicts::new(8, Duration::from_secs(60));
        push(&mut conflicts, "calm", 0.5, 0);
        for refused in 0..100 {
            push(&mut conflicts, "loud", f64::from(refused), 0);
        }
        assert_eq!(refused(&conflicts, None, now), [99.0, 98.0, 0.5]);
        assert_eq!(refused(&conflicts, Some("loud"), now), [99.0, 98.0]);
        assert_eq!(refused(&conflicts, Some("calm"), now), [0.5]);
        assert_eq!(refused(&conflicts, Some("none"), now), [0.0; 0]);
        for sensor in 0..100 {
            push(&mut conflicts, &format!("s{sensor}"), f64::from(sensor), 0);
        }
        assert_eq!(conflicts.records.len(), 8);
        assert_eq!(
            conflicts.by_sensor.len(),
            8,
            "what is forgotten takes no room"
        );
        assert_eq!(refused(&conflicts, None, now)[7], 92.0);
    }

    #[test]
    fn what_is_too_old_is_not_shown_and_goes() {
        let now = HourStart::from_hours(1).start();
        let after = |seconds: i64| now.saturating_add(seconds * 1_000_000);
        let mut conflicts = Conflicts::new(8, Duration::from_secs(60));
        push(&mut conflicts, "a", 1.0, 0);
        push(&mut conflicts, "b", 2.0, 30);
        assert_eq!(refused(&conflicts, None, after(60)), [2.0, 1.0]);
        assert_eq!(refused(&conflicts, None, after(61)), [2.0]);
        assert_eq!(refused(&conflicts, Some("a"), after(61)), [0.0; 0]);
        push(&mut conflicts, "c", 3.0, 61);
        assert_eq!(conflicts.records.len(), 2);
        assert_eq!(conflicts.by_sensor.len(), 2);
    }
}
