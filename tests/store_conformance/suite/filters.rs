//! Lists of sensors by site, attributes and silence, compared with what
//! [`SensorFilter::matches`] says of every record.

use hourglass::model::{Micros, SensorDetails, SensorId, SiteCopy, Tags};
use hourglass::store::{
    AttributeFilter, SensorCursor, SensorFilter, SensorPut, Store, StoredSensor,
};
use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use super::draft::{sensor, word};
use super::records::{attributed, ids, next, paged, put, put_one, site_id, tell, told};
use crate::store_conformance::Fixture;
use crate::support::seed::seeded;

const SENSORS: usize = 120;
const FILTERS: usize = 150;
/// Few of each, so that sensors share them.
const SITES: [&str; 3] = ["s", "s|t", "$t"];
const KEYS: [&str; 3] = ["fw", "room", "$k"];
const TEXTS: [&str; 16] = [
    "1",
    "1.0",
    "1.10",
    "10",
    "2.1",
    "-3",
    "-0",
    "0",
    "4e2",
    "",
    "x",
    "xy",
    "x\u{10ffff}",
    "ÿ",
    "$v",
    "🌡",
];

fn one_of<T: Copy>(rng: &mut StdRng, all: &[T]) -> T {
    *all.choose(rng).unwrap()
}

fn tags(rng: &mut StdRng) -> Tags {
    let count = rng.random_range(0..3);
    let pairs: Vec<_> = (0..count)
        .map(|_| (one_of(rng, &KEYS), one_of(rng, &TEXTS)))
        .collect();
    Tags::new(pairs)
}

/// An instant of few: whole milliseconds, many of them shared.
fn millis(rng: &mut StdRng) -> i64 {
    rng.random_range(-3..5)
}

/// Sensors that were heard of, were put, or both.
async fn fleet(store: &dyn Store, rng: &mut StdRng) -> Vec<StoredSensor> {
    let ids: Vec<SensorId> = (0..SENSORS)
        .map(|n| sensor(&format!("{}{n}", one_of(rng, &["a", "Z", "é", "$", "|"]))))
        .collect();
    let mut heard = Vec::new();
    let mut puts: Vec<SensorPut> = Vec::new();
    for id in &ids {
        let way = rng.random_range(0..3);
        if way != 0 {
            let mut told = told(id.as_str(), millis(rng), &[]);
            told.attributes = tags(rng);
            heard.push(told);
        }
        if way != 1 {
            let site = one_of(rng, &SITES);
            let site = rng.random_bool(0.7).then(|| SiteCopy {
                id: site_id(site),
                name: None,
                city: None,
                rev: 1,
            });
            puts.push(SensorPut {
                id: id.clone(),
                expect: None,
                target: next(None),
                details: SensorDetails {
                    site,
                    attributes: tags(rng),
                    ..SensorDetails::default()
                },
                attributes_removed: Vec::new(),
            });
        }
    }
    tell(store, &heard).await;
    let outcomes = store.put_sensors(&puts).await.unwrap();
    assert!(outcomes.iter().all(|outcome| word(outcome) == "stored"));
    let fleet = store.sensors(&ids).await.unwrap();
    assert_eq!(fleet.len(), SENSORS);
    // Lists leave recent readings out; nobody told any.
    fleet
}

fn condition(rng: &mut StdRng) -> AttributeFilter {
    let key = one_of(rng, &KEYS).into();
    let bound = |rng: &mut StdRng| {
        let bounds = [f64::NEG_INFINITY, -3.0, -0.0, 1.0, 1.1, 2.1, 1e9];
        rng.random_bool(0.7).then(|| one_of(rng, &bounds))
    };
    match rng.random_range(0..3) {
        0 => AttributeFilter::Equals {
            key,
            text: one_of(rng, &TEXTS).into(),
        },
        1 => AttributeFilter::Prefix {
            key,
            prefix: one_of(
                rng,
                &["1", "1.", "x", "x\u{10ffff}", "\u{10ffff}", "🌡", "$"],
            )
            .into(),
        },
        _ => AttributeFilter::Between {
            key,
            min: bound(rng),
            max: bound(rng),
        },
    }
}

fn filter(rng: &mut StdRng) -> SensorFilter {
    let site = one_of(rng, &SITES);
    // Between two milliseconds too.
    let since = millis(rng) * 1000 + one_of(rng, &[0, 1, 999]);
    SensorFilter {
        site: rng.random_bool(0.4).then(|| site_id(site)),
        attributes: (0..one_of(rng, &[0, 0, 1, 1, 2, 3]))
            .map(|_| condition(rng))
            .collect(),
        silent_since: rng.random_bool(0.3).then(|| Micros::new(since).unwrap()),
    }
}

pub(crate) async fn lists_hold_what_passes_their_filter_in_their_order(fixture: &mut dyn Fixture) {
    let mut rng = seeded();
    let store = fixture.open().await;
    let fleet = fleet(&*store, &mut rng).await;
    for _ in 0..FILTERS {
        let filter = filter(&mut rng);
        let mut expected: Vec<_> = fleet.iter().filter(|s| filter.matches(s)).collect();
        if filter.silent_since.is_some() {
            expected.sort_by_key(|sensor| sensor.last_seen);
        }
        let limit = one_of(&mut rng, &[2, 7, 500]);
        let found = paged(&*store, &filter, limit).await;
        let found: Vec<_> = found.iter().collect();
        assert_eq!(found, expected, "{filter:?} in pages of {limit}");
    }
    let all = SensorFilter::default();
    assert!(store.find_sensors(&all, None, 0).await.unwrap().is_empty());
    assert!(store.each_sensor(None, 0).await.unwrap().is_empty());
    let mut each = Vec::new();
    loop {
        let after = each.last().map(|sensor: &StoredSensor| &sensor.id);
        let page = store.each_sensor(after, 7).await.unwrap();
        if page.is_empty() {
            break;
        }
        each.extend(page.into_iter().map(Result::unwrap));
    }
    assert_eq!(each, fleet);
}

pub(crate) async fn silent_sensors_are_counted_as_they_are_listed(fixture: &mut dyn Fixture) {
    let mut rng = seeded();
    let store = fixture.open().await;
    let fleet = fleet(&*store, &mut rng).await;
    let mut some: Vec<SensorId> = fleet.iter().step_by(3).map(|s| s.id.clone()).collect();
    some.push(sensor("unknown"));
    for since in [-3000, -2999, 0, 1, 1999, 2000, 4000, 9000] {
        let since = Micros::new(since).unwrap();
        let filter = SensorFilter {
            silent_since: Some(since),
            ..SensorFilter::default()
        };
        let silent: Vec<_> = fleet.iter().filter(|s| filter.matches(s)).collect();
        let count = store.count_silent(since, None).await.unwrap();
        assert_eq!(count, silent.len() as u64);
        let of_some = silent.iter().filter(|s| some.contains(&s.id)).count();
        let count = store.count_silent(since, Some(&some)).await.unwrap();
        assert_eq!(count, of_some as u64);
        assert_eq!(store.count_silent(since, Some(&[])).await.unwrap(), 0);
    }
}

/// Numbers are compared as numbers, texts as texts.
pub(crate) async fn an_attribute_answers_as_text_and_as_number(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let texts = ["2.1", "2.10", "21e-1", "2.1.0", "10", "-5", "v2.1", "2"];
    for text in texts {
        let put = put(text, None, attributed(&[("fw", text), ("n", "7")]), &[]);
        assert_eq!(put_one(&*store, &put).await, "stored");
    }
    let found = async |filter: AttributeFilter| {
        let filter = SensorFilter {
            attributes: vec![filter],
            ..SensorFilter::default()
        };
        let found = paged(&*store, &filter, 3).await;
        ids(&found).join(" ")
    };
    let between = |min, max| AttributeFilter::Between {
        key: "fw".into(),
        min,
        max,
    };
    let prefix = |prefix: &str| AttributeFilter::Prefix {
        key: "fw".into(),
        prefix: prefix.into(),
    };
    let equals = |text: &str| AttributeFilter::Equals {
        key: "fw".into(),
        text: text.into(),
    };
    assert_eq!(found(between(Some(2.1), Some(2.1))).await, "2.1 2.10 21e-1");
    assert_eq!(found(between(Some(2.1), None)).await, "10 2.1 2.10 21e-1");
    assert_eq!(found(between(None, Some(2.0))).await, "-5 2");
    let numbers = "-5 10 2 2.1 2.10 21e-1";
    assert_eq!(found(between(None, None)).await, numbers);
    assert_eq!(found(between(Some(3.0), Some(2.0))).await, "");
    assert_eq!(found(prefix("2.1")).await, "2.1 2.1.0 2.10");
    assert_eq!(found(prefix("2")).await, "2 2.1 2.1.0 2.10 21e-1");
    assert_eq!(found(equals("2.1")).await, "2.1");
    assert_eq!(found(equals("7")).await, "");
}

/// A sensor that is heard of between two pages moves to where it belongs.
pub(crate) async fn a_list_goes_on_behind_a_sensor_that_is_not_there_any_more(
    fixture: &mut dyn Fixture,
) {
    let store = fixture.open().await;
    let heard: Vec<_> = ["a", "b", "c", "d"].map(|id| told(id, 1, &[])).to_vec();
    tell(&*store, &heard).await;
    let since = Micros::new(5000).unwrap();
    let filter = SensorFilter {
        silent_since: Some(since),
        ..SensorFilter::default()
    };
    let page = store.find_sensors(&filter, None, 2).await.unwrap();
    assert_eq!(ids(&page), ["a", "b"]);
    let after = SensorCursor {
        id: page[1].id.clone(),
        last_seen: page[1].last_seen,
    };
    tell(&*store, &[told("b", 9, &[]), told("c", 3, &[])]).await;
    let page = store.find_sensors(&filter, Some(&after), 9).await.unwrap();
    assert_eq!(ids(&page), ["d", "c"]);
}
