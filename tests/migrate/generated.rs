//! Any store, from embedded to MongoDB and back: the same in every query and
//! record.
//!
//! Method: a service takes generated readings in any order, with odd names and
//! values, some hours of several parts; readings are deleted, sensors and sites
//! described, and the readings of some hours dropped while their computed fields
//! stay. Then the store goes both ways. All that a service says of it before and
//! after is compared as text, and so is all that the two embedded stores hold.

use std::fmt::Write as _;
use std::path::Path;

use futures_util::StreamExt;
use hourglass::model::{HourRange, HourStart, SensorId, Tags};
use hourglass::store::embedded::{EmbeddedSettings, EmbeddedStore};
use hourglass::store::{
    RecentWrite, SensorFilter, SensorHoursRange, SensorTold, Store, WriteOutcome, WriterId,
};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::test_runner::{FileFailurePersistence, TestRunner};
use serde_json::{Map, Value, json};

use super::there_and_back::{embedded, migrate, put};
use crate::support::hourglass::{Hourglass, Start};
use crate::support::mongod::TestDatabase;

const SENSORS: [&str; 4] = ["S1", "S|1#2", "a b/ü", "%41"];
const MEASURES: [&str; 6] = ["temp", "Temp", "a.b", "$x", "sec", "50%"];
/// 2026-05-01T10:00:00Z.
const START: i64 = 1_777_629_600;
const HOURS: i64 = 5;

/// Values by measure.
type Values = Vec<(usize, f64)>;

/// What is done, by indices into the lists above.
#[derive(Debug, Clone)]
struct Plan {
    /// Sensor, microseconds since the start, values by measure.
    readings: Vec<(usize, i64, Values)>,
    /// Seconds of the second hour that all have a reading, of the first sensor:
    /// beyond about 1,000 it has more than one part in MongoDB.
    dense: u32,
    /// Sensor and range in seconds.
    deletions: Vec<(usize, i64, i64)>,
    /// Sensor, text of its name, whether it is at the site.
    described: Vec<(usize, String, bool)>,
    site: Option<String>,
    /// Sensor and how many of its first hours lose their readings.
    dropped: Option<(usize, i64)>,
}

fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => (-4000i32..4000).prop_map(|tenths| f64::from(tenths) / 10.0),
        1 => Just(-0.0),
        1 => Just(5e-324),
        1 => Just(1e300),
        2 => any::<f64>().prop_filter("in range", |v| v.is_finite() && v.abs() <= 1e300),
    ]
}

fn plan() -> impl Strategy<Value = Plan> {
    let measures = btree_map(0..MEASURES.len(), value(), 1..4);
    let at = prop_oneof![
        0..HOURS * 3_600_000_000,
        (0..HOURS * 3600).prop_map(|second| second * 1_000_000),
        (0..40i64).prop_map(|second| second * 1_000_000),
    ];
    let reading = (
        0..SENSORS.len(),
        at,
        measures.prop_map(|m| m.into_iter().collect()),
    );
    let range = (0..SENSORS.len(), 0..HOURS * 3600, 1..5000i64);
    (
        vec(reading, 1..120),
        prop_oneof![Just(0u32), 1200..3600u32],
        vec(
            range.prop_map(|(sensor, from, len)| (sensor, from, from + len)),
            0..3,
        ),
        vec((0..SENSORS.len(), "[a-zü ]{1,9}x", any::<bool>()), 0..3),
        proptest::option::of("[A-Za-z]{1,8}"),
        proptest::option::of((0..SENSORS.len(), 1..HOURS)),
    )
        .prop_map(
            |(readings, dense, deletions, described, site, dropped)| Plan {
                readings,
                dense,
                deletions,
                described,
                site,
                dropped,
            },
        )
}

fn id_in_url(sensor: usize) -> String {
    let mut url = String::new();
    for byte in SENSORS[sensor].bytes() {
        write!(url, "%{byte:02X}").unwrap();
    }
    url
}

impl Plan {
    async fn act(&self, dir: &Path) -> Answers {
        let hourglass = Start::on(dir).start();
        let mut items: Vec<Value> = Vec::new();
        for (sensor, micros, values) in &self.readings {
            let named = values
                .iter()
                .map(|(measure, value)| (MEASURES[*measure], value));
            let measures: Map<String, Value> = named
                .map(|(name, value)| (name.to_owned(), json!(value)))
                .collect();
            // By their size these are microseconds.
            let ts = START * 1_000_000 + micros;
            items.push(json!({ "sensorId": SENSORS[*sensor], "ts": ts, "measures": measures }));
        }
        for second in 0..self.dense {
            let ts = START + 3600 + i64::from(second);
            let temp = f64::from(second) / 7.0;
            items.push(json!({ "sensorId": SENSORS[0], "ts": ts, "temp": temp, "a.b": second }));
        }
        let (status, answer) = hourglass.post(&Value::Array(items)).await;
        assert_eq!((status, &answer["rejected"]), (202, &json!(0)), "{answer}");
        if let Some(name) = &self.site {
            put(
                &hourglass,
                "/v1/sites/B1",
                json!({ "name": name, "city": "Zug" }),
            )
            .await;
        }
        for (sensor, name, at_site) in &self.described {
            let site = (*at_site && self.site.is_some()).then_some("B1");
            let body = json!({ "name": name, "site": site, "attributes": { "k.1": name } });
            put(
                &hourglass,
                &format!("/v1/sensors/{}", id_in_url(*sensor)),
                body,
            )
            .await;
        }
        for (sensor, from, to) in &self.deletions {
            let (from, to) = (START + from, START + to);
            let id = id_in_url(*sensor);
            let url = hourglass.url(&format!("/v1/sensors/{id}/readings?from={from}&to={to}"));
            let answer = hourglass.http().delete(url).send().await.unwrap();
            assert_eq!(answer.status().as_u16(), 200);
        }
        assert!(hourglass.stop().0.success());
        if let Some((sensor, hours)) = self.dropped {
            drop_first_hours(&open(dir), SENSORS[sensor], hours).await;
        }
        let hourglass = Start::on(dir).start();
        let answers = answers(&hourglass).await;
        assert!(hourglass.stop().0.success());
        answers
    }
}

/// As a pass of retention does: the newest readings are cut, then buckets change.
async fn drop_first_hours(store: &EmbeddedStore, sensor: &str, hours: i64) {
    let sensor = SensorId::new(sensor).unwrap();
    let from = HourStart::from_hours((START / 3600) as i32);
    let to = HourStart::from_hours(from.hours() + hours as i32);
    let found = store.sensors(std::slice::from_ref(&sensor)).await.unwrap();
    if let Some(found) = found.into_iter().next() {
        let mut kept = found.recent.readings;
        kept.retain(|reading| reading.at.hour() >= to);
        let told = SensorTold {
            sensor: sensor.clone(),
            last_seen: None,
            attributes: Tags::default(),
            recent: Some(RecentWrite::after(
                found.recent.version,
                &WriterId::new(77),
                kept,
            )),
        };
        let outcome = store.touch(&[told]).await.unwrap();
        assert!(matches!(outcome[..], [WriteOutcome::Stored]), "{outcome:?}");
    }
    let hours = HourRange { from, to };
    let range = SensorHoursRange { sensor, hours };
    store.drop_readings(&[range], 88).await.unwrap();
}

/// What a service says of everything.
struct Answers {
    said: Value,
    /// Those of hours are held to a bound, not to the last bit: in MongoDB an hour
    /// of several parts has a sum of each.
    sums: Vec<Sum>,
}

struct Sum {
    sum: f64,
    /// No less than the sum of the magnitudes.
    magnitudes: f64,
}

impl Answers {
    fn assert_are(&self, before: &Self) -> Result<(), TestCaseError> {
        prop_assert_eq!(&self.said, &before.said);
        prop_assert_eq!(self.sums.len(), before.sums.len());
        for (a, b) in self.sums.iter().zip(&before.sums) {
            let off = (a.sum - b.sum).abs();
            prop_assert!(off <= 1e-12 * b.magnitudes, "{} and {}", a.sum, b.sum);
        }
        Ok(())
    }
}

async fn answers(hourglass: &Hourglass) -> Answers {
    let mut all = Map::new();
    let mut sums = Vec::new();
    let range = format!("from={START}&to={}", START + HOURS * 3600);
    for sensor in 0..SENSORS.len() {
        let id = id_in_url(sensor);
        for path in [
            format!("/v1/sensors/{id}"),
            format!("/v1/sensors/{id}/readings?{range}&limit=10000"),
            format!("/v1/sensors/{id}/hourly?{range}"),
            format!("/v1/sensors/{id}/latest"),
        ] {
            let (status, text) = hourglass.get_text(&path).await;
            // MongoDB keeps the time of receipt to the millisecond.
            let mut text = without_micros(&text, "\"lastSeen\":\"");
            if path.contains("/readings?") {
                // A service learns it with its first pass of retention; the
                // sensor's page has it from the record.
                text = without_member(&text, "\"rawFrom\":\"");
            }
            if path.contains("/hourly?") {
                let mut hours: Value = serde_json::from_str(&text).unwrap();
                sums.append(&mut take_sums(&mut hours));
                all.insert(path, json!([status, hours]));
            } else {
                all.insert(path, json!([status, text]));
            }
        }
    }
    let (status, text) = hourglass.get_text("/v1/sites/B1").await;
    all.insert("site".to_owned(), json!([status, text]));
    Answers {
        said: Value::Object(all),
        sums,
    }
}

/// Takes `sum` out of every measure of every hour, and `avg`, which follows.
fn take_sums(answer: &mut Value) -> Vec<Sum> {
    let mut sums = Vec::new();
    for hour in answer["hours"].as_array_mut().unwrap() {
        for stats in hour["measures"].as_object_mut().unwrap().values_mut() {
            let stats = stats.as_object_mut().unwrap();
            stats.remove("avg").unwrap();
            let sum = stats.remove("sum").unwrap().as_f64().unwrap();
            let [count, min, max] = ["count", "min", "max"].map(|n| stats[n].as_f64().unwrap());
            let magnitudes = count * min.abs().max(max.abs());
            sums.push(Sum { sum, magnitudes });
        }
    }
    sums
}

/// Leaves out the text member that `name` begins, and the comma behind it.
fn without_member(text: &str, name: &str) -> String {
    let Some((before, rest)) = text.split_once(name) else {
        return text.to_owned();
    };
    let (_, rest) = rest.split_once("\",").unwrap();
    format!("{before}{rest}")
}

/// Cuts the time behind `field` to its milliseconds.
fn without_micros(text: &str, field: &str) -> String {
    let Some((before, rest)) = text.split_once(field) else {
        return text.to_owned();
    };
    let (time, rest) = rest.split_once('"').unwrap();
    let (second, fraction) = time
        .trim_end_matches('Z')
        .split_once('.')
        .unwrap_or((time, ""));
    let millis: String = fraction.chars().chain("000".chars()).take(3).collect();
    format!("{before}{field}{second}.{millis}\"{rest}")
}

fn open(dir: &Path) -> EmbeddedStore {
    EmbeddedStore::open(&dir.join("store"), EmbeddedSettings::default()).unwrap()
}

/// What an embedded store holds, but for versions of buckets.
async fn content(dir: &Path) -> String {
    let store = open(dir);
    let mut text = String::new();
    let buckets: Vec<_> = store.all().collect().await;
    for bucket in buckets {
        let bucket = bucket.unwrap();
        for part in &bucket.parts {
            let elements: Vec<_> = part
                .elements
                .iter()
                .map(|e| {
                    let mut values: Vec<_> =
                        e.values().map(|(n, v)| (n.clone(), v.to_bits())).collect();
                    values.sort();
                    (e.offset, values)
                })
                .collect();
            let fields: Vec<_> = part
                .computed
                .measures
                .iter()
                .map(|(name, s)| (name, s.count, [s.min, s.max].map(f64::to_bits)))
                .collect();
            let (dropped, count) = (part.raw_dropped, part.computed.count);
            writeln!(
                text,
                "{} {dropped} {count} {fields:?} {elements:?}",
                bucket.key
            )
            .unwrap();
        }
    }
    let all = SensorFilter::default();
    let sensors = store.find_sensors(&all, None, 100).await.unwrap();
    let ids: Vec<SensorId> = sensors.into_iter().map(|sensor| sensor.id).collect();
    for sensor in store.sensors(&ids).await.unwrap() {
        let seen = sensor.last_seen.map(|at| at.get().div_euclid(1000));
        writeln!(
            text,
            "{:?} {:?} {:?} {seen:?} {:?} {:?} {:?}",
            sensor.id,
            sensor.version.map(|version| version.rev),
            sensor.details,
            sensor.attributes,
            sensor.recent.readings,
            sensor.raw_dropped_before,
        )
        .unwrap();
    }
    for site in store.sites(None, 100).await.unwrap() {
        writeln!(text, "{:?} {:?}", site.site, site.version.rev).unwrap();
    }
    text
}

async fn there_and_back(plan: &Plan) -> Result<(), TestCaseError> {
    let database = TestDatabase::new().await;
    let dirs = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let [first, beside, last] = &dirs;
    let before = plan.act(first.path()).await;
    for (from, to) in [
        (embedded(first.path()), database.uri()),
        (database.uri(), embedded(last.path())),
    ] {
        for _ in 0..2 {
            let (code, stdout, stderr) = migrate(&from, &to);
            prop_assert_eq!(code, Some(0), "{}{}", stdout, stderr);
        }
    }
    prop_assert_eq!(content(last.path()).await, content(first.path()).await);
    for start in [
        Start::on(beside.path()).store(&database.uri()),
        Start::on(last.path()),
    ] {
        start.verify();
        let hourglass = start.start();
        let after = answers(&hourglass).await;
        prop_assert!(hourglass.stop().0.success());
        after.assert_are(&before)?;
    }
    Ok(())
}

#[test]
fn any_store_is_the_same_after_the_way_to_mongodb_and_back() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let config = ProptestConfig {
        cases: 8,
        max_shrink_iters: 60,
        failure_persistence: Some(Box::new(FileFailurePersistence::Off)),
        ..ProptestConfig::default()
    };
    let run = |plan: Plan| runtime.block_on(there_and_back(&plan));
    TestRunner::new(config).run(&plan(), run).unwrap();
}
