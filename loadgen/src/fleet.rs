//! The simulated fleet: what every sensor measures at every tick, as a pure
//! function of the seed, so that a check needs no memory of what was sent.

use std::io::Write as _;

use bytes::Bytes;
use jiff::Timestamp;

use crate::workload::BodyFormat;

/// Ticks between two support points of a sensor's curve.
const SUPPORT_TICKS: u64 = 600;
/// Ticks for which the wiggle on the curve stays.
const WIGGLE_TICKS: u64 = 7;

/// A checked workload: what is measured and how it is cut into batches.
#[derive(Debug, Clone, PartialEq)]
pub struct Fleet {
    /// Everything random follows from it.
    pub seed: u64,
    /// Sensors, at least 1.
    pub sensors: u32,
    /// Readings in all, at least 1.
    pub readings: u64,
    /// Readings in a batch, at least 1.
    pub batch: usize,
    /// Names of the measures, at least 1.
    pub measures: Vec<String>,
    /// Instant of tick 0, microseconds since the epoch.
    pub start: i64,
    /// Microseconds between two ticks, at least 1.
    pub interval: i64,
    /// Microseconds by which a sensor's clock may be off either way, at least 0.
    pub skew: i64,
    /// Fraction of readings held back.
    pub late: f64,
    /// Ticks they are held back.
    pub late_by_ticks: u64,
    /// Fraction of batches sent twice.
    pub duplicates: f64,
    /// How bodies are written.
    pub format: BodyFormat,
    /// What sensor ids begin with.
    pub prefix: String,
}

/// One sensor at one tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reading {
    /// Number of the sensor, from 0.
    pub sensor: u32,
    /// Number of the tick, from 0.
    pub tick: u64,
}

/// What a random decision is about; keeps the streams of one seed apart.
#[derive(Debug, Clone, Copy)]
pub enum Purpose {
    /// The level of a sensor's curve.
    Level,
    /// A support point of the curve.
    Support,
    /// The wiggle on it.
    Wiggle,
    /// Whether a reading is late.
    Late,
    /// Whether a batch is sent twice.
    Copy,
    /// How far a sensor's clock is off.
    Skew,
    /// The digit behind the tenths.
    Digit,
}

impl Fleet {
    /// The number of ticks of which at least one sensor has a reading.
    #[must_use]
    pub fn ticks(&self) -> u64 {
        self.readings.div_ceil(u64::from(self.sensors))
    }

    /// The reading at a place in the order of time.
    #[must_use]
    pub fn reading(&self, place: u64) -> Reading {
        let sensors = u64::from(self.sensors);
        Reading {
            sensor: u32::try_from(place % sensors).unwrap_or(u32::MAX),
            tick: place / sensors,
        }
    }

    /// The instant of a tick by a clock that is right, microseconds since the epoch.
    #[must_use]
    pub fn at(&self, tick: u64) -> i64 {
        self.start + i64::try_from(tick).unwrap_or(i64::MAX) * self.interval
    }

    /// The instant that a reading bears: that of its tick by the clock of its
    /// sensor, microseconds since the epoch.
    #[must_use]
    pub fn instant(&self, reading: Reading) -> i64 {
        self.at(reading.tick) + self.clock_offset(reading.sensor)
    }

    /// Microseconds by which a sensor's clock is ahead, the same at every tick;
    /// within `skew` either way.
    #[must_use]
    pub fn clock_offset(&self, sensor: u32) -> i64 {
        match self.skew {
            0 => 0,
            skew => {
                let width = 2 * skew.unsigned_abs() + 1;
                self.below(width, Purpose::Skew, u64::from(sensor), 0) - skew
            }
        }
    }

    /// The id of a sensor.
    #[must_use]
    pub fn sensor_id(&self, sensor: u32) -> String {
        format!("{}{sensor}", self.prefix)
    }

    /// A value in tenths: a calm curve (within 20 tenths of the sensor's level,
    /// straight between support points) with a wiggle of one tenth.
    #[must_use]
    pub fn tenths(&self, reading: Reading, measure: usize) -> i64 {
        let Reading { sensor, tick } = reading;
        let stream = (u64::from(sensor) << 9) | measure as u64;
        let level = 180 + self.below(120, Purpose::Level, stream, 0);
        let support = |number| self.below(41, Purpose::Support, stream, number) - 20;
        let (number, into) = (tick / SUPPORT_TICKS, (tick % SUPPORT_TICKS).cast_signed());
        let width = SUPPORT_TICKS.cast_signed();
        let curve = (support(number) * (width - into) + support(number + 1) * into) / width;
        let wiggle = self.below(3, Purpose::Wiggle, stream, tick / WIGGLE_TICKS) - 1;
        level + curve + wiggle
    }

    /// A value: the double nearest to its tenths, as a parser of its decimal
    /// text finds it (division of two exact integers rounds correctly).
    #[must_use]
    pub fn value(&self, reading: Reading, measure: usize) -> f64 {
        self.tenths(reading, measure) as f64 / 10.0
    }

    /// A random digit, 0 to 9, of one value: what a finer sensor shows behind
    /// the tenths.
    #[must_use]
    pub fn digit(&self, reading: Reading, measure: usize) -> i64 {
        let stream = (u64::from(reading.sensor) << 9) | measure as u64;
        self.below(10, Purpose::Digit, stream, reading.tick)
    }

    /// Decides with a probability, from the seed alone.
    #[must_use]
    pub fn decides(&self, fraction: f64, purpose: Purpose, a: u64, b: u64) -> bool {
        let unit = (self.random(purpose, a, b) >> 11) as f64 / (1u64 << 53) as f64;
        unit < fraction
    }

    /// The body of a request.
    #[must_use]
    pub fn encode(&self, readings: &[Reading]) -> Bytes {
        Bytes::from(match self.format {
            BodyFormat::Json => self.encode_json(readings, b"[", b",", b"]"),
            BodyFormat::Ndjson => self.encode_json(readings, b"", b"\n", b"\n"),
            BodyFormat::Line => self.lines(readings, 1, |reading, measure| {
                self.tenths(reading, measure)
            }),
        })
    }

    fn encode_json(
        &self,
        readings: &[Reading],
        open: &[u8],
        between: &[u8],
        close: &[u8],
    ) -> Vec<u8> {
        let mut body = Vec::with_capacity(readings.len() * (56 + 20 * self.measures.len()) + 2);
        let mut written = (i64::MIN, String::new());
        body.extend_from_slice(open);
        for (place, reading) in readings.iter().enumerate() {
            if place > 0 {
                body.extend_from_slice(between);
            }
            let instant = self.instant(*reading);
            if written.0 != instant {
                written = (instant, rfc3339(instant));
            }
            let (prefix, sensor, ts) = (&self.prefix, reading.sensor, &written.1);
            write!(body, r#"{{"sensorId":"{prefix}{sensor}","ts":"{ts}""#)
                .expect("a vector takes every write");
            for (measure, name) in self.measures.iter().enumerate() {
                let tenths = self.tenths(*reading, measure);
                write!(body, r#","{name}":{}.{}"#, tenths / 10, tenths % 10)
                    .expect("a vector takes every write");
            }
            body.push(b'}');
        }
        body.extend_from_slice(close);
        body
    }

    /// Lines of one measurement; the tag is one of those that name a sensor, in
    /// hourglass and for those who read the same lines elsewhere. Values are whole
    /// numbers of units, of which the last of so many decimals is one.
    pub(crate) fn lines(
        &self,
        readings: &[Reading],
        decimals: u32,
        units: impl Fn(Reading, usize) -> i64,
    ) -> Vec<u8> {
        let mut body = Vec::with_capacity(readings.len() * (48 + 20 * self.measures.len()));
        let (scale, width) = (10_i64.pow(decimals), decimals as usize);
        for reading in readings {
            let (prefix, sensor) = (&self.prefix, reading.sensor);
            write!(body, "readings,sensor_id={prefix}{sensor}")
                .expect("a vector takes every write");
            for (measure, name) in self.measures.iter().enumerate() {
                let units = units(*reading, measure);
                let before = if measure == 0 { ' ' } else { ',' };
                let (whole, rest) = (units / scale, units % scale);
                write!(body, "{before}{name}={whole}.{rest:0width$}")
                    .expect("a vector takes every write");
            }
            writeln!(body, " {}000", self.instant(*reading)).expect("a vector takes every write");
        }
        body
    }

    fn below(&self, bound: u64, purpose: Purpose, a: u64, b: u64) -> i64 {
        (self.random(purpose, a, b) % bound).cast_signed()
    }

    fn random(&self, purpose: Purpose, a: u64, b: u64) -> u64 {
        let seed = mix(self.seed.wrapping_add(purpose as u64));
        mix(mix(seed ^ a) ^ b)
    }
}

/// RFC 3339 in UTC of microseconds since the epoch.
#[must_use]
pub fn rfc3339(micros: i64) -> String {
    match Timestamp::from_microsecond(micros) {
        Ok(at) => at.to_string(),
        Err(_) => format!("{micros}us"),
    }
}

/// One step of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom
/// number generators", 2014).
fn mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn small() -> Fleet {
        Fleet {
            seed: 1,
            sensors: 3,
            readings: 3000,
            batch: 10,
            measures: vec!["temp".to_owned()],
            start: 1_777_593_600_000_000,
            interval: 1_000_000,
            skew: 0,
            late: 0.0,
            late_by_ticks: 60,
            duplicates: 0.0,
            format: BodyFormat::Json,
            prefix: "S".to_owned(),
        }
    }

    #[test]
    fn the_same_seed_makes_the_same_bodies_and_another_one_others() {
        let readings: Vec<Reading> = (0..100).map(|place| small().reading(place)).collect();
        let other = Fleet { seed: 2, ..small() };
        assert_eq!(small().encode(&readings), small().encode(&readings));
        assert_ne!(small().encode(&readings), other.encode(&readings));
    }

    #[test]
    fn a_body_parses_to_exactly_the_values_of_the_fleet() {
        for format in [BodyFormat::Json, BodyFormat::Ndjson] {
            let fleet = Fleet { format, ..small() };
            let readings: Vec<Reading> = (500..600).map(|place| fleet.reading(place)).collect();
            let body = fleet.encode(&readings);
            let items: Vec<serde_json::Value> = match format {
                BodyFormat::Json => serde_json::from_slice(&body).unwrap(),
                _ => serde_json::Deserializer::from_slice(&body)
                    .into_iter()
                    .map(Result::unwrap)
                    .collect(),
            };
            assert_eq!(items.len(), readings.len());
            for (item, reading) in items.iter().zip(&readings) {
                let value = item["temp"].as_f64().unwrap();
                assert_eq!(value.to_bits(), fleet.value(*reading, 0).to_bits());
                assert_eq!(item["sensorId"], fleet.sensor_id(reading.sensor));
                assert_eq!(item["ts"], rfc3339(fleet.at(reading.tick)));
            }
        }
    }

    #[test]
    fn a_line_names_sensor_measures_and_nanoseconds() {
        let fleet = Fleet {
            format: BodyFormat::Line,
            measures: vec!["temp".to_owned(), "humidity".to_owned()],
            ..small()
        };
        let reading = Reading { sensor: 2, tick: 5 };
        let body = fleet.encode(&[reading]);
        let (temp, humidity) = (fleet.value(reading, 0), fleet.value(reading, 1));
        assert_eq!(
            String::from_utf8_lossy(&body),
            format!(
                "readings,sensor_id=S2 temp={temp:.1},humidity={humidity:.1} 1777593605000000000\n"
            )
        );
    }

    #[test]
    fn a_clock_is_off_by_the_same_at_every_tick_and_no_more_than_asked() {
        let fleet = Fleet {
            skew: 30_000_000,
            sensors: 500,
            ..small()
        };
        let offsets: Vec<i64> = (0..500).map(|sensor| fleet.clock_offset(sensor)).collect();
        assert!(offsets.iter().all(|offset| offset.abs() <= fleet.skew));
        assert!(offsets.iter().any(|offset| *offset < -20_000_000));
        assert!(offsets.iter().any(|offset| *offset > 20_000_000));
        for tick in [0, 7] {
            let reading = Reading { sensor: 3, tick };
            assert_eq!(fleet.instant(reading) - fleet.at(tick), offsets[3]);
            let body = fleet.encode(&[reading]);
            let items: Vec<serde_json::Value> = serde_json::from_slice(&body).unwrap();
            assert_eq!(items[0]["ts"], rfc3339(fleet.instant(reading)));
        }
        let other = Fleet { seed: 2, ..fleet };
        assert_ne!(other.clock_offset(3), offsets[3]);
    }

    #[test]
    fn a_walk_is_calm_and_yet_moves() {
        let fleet = small();
        let walk: Vec<i64> = (0..10_000)
            .map(|tick| fleet.tenths(Reading { sensor: 1, tick }, 0))
            .collect();
        assert!(walk.windows(2).all(|pair| (pair[0] - pair[1]).abs() <= 3));
        let (min, max) = (walk.iter().min().unwrap(), walk.iter().max().unwrap());
        assert!((10..=44).contains(&(max - min)), "{min} to {max}");
    }
}
