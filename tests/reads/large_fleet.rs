//! 10,000 sensors in 50 sites with 20 attributes each, asked through the real
//! binary while the server's profiler notes everything: how long lists take and
//! what they examine is printed; that nothing ever read a collection from end to
//! end is asserted.

use std::time::{Duration, Instant};

use futures_util::TryStreamExt;
use hourglass::model::{HourStart, Micros, SensorDetails, SensorId, SiteCopy, SiteId, Tags};
use hourglass::store::mongodb::{MongoSettings, MongoStore};
use hourglass::store::{RecordVersion, SensorPut, SensorTold, Store, WriteOutcome};
use mongodb::bson::{Bson, Document, doc};
use serde_json::json;

use crate::support::hourglass::{Hourglass, Start};
use crate::support::mongod::TestDatabase;

const SENSORS: usize = 10_000;
const SITES: usize = 50;
const ATTRIBUTES: usize = 20;
/// Of each question.
const ASKED: usize = 50;

fn sensor(number: usize) -> SensorId {
    SensorId::new(&format!("device-{number:05}")).unwrap()
}

/// Sensor `number` has the value `number % (k + 2)` of attribute `k`.
fn attributes(number: usize) -> Tags {
    let pairs: Vec<(String, String)> = (0..ATTRIBUTES)
        .map(|k| (format!("k{k:02}"), format!("v{}", number % (k + 2))))
        .collect();
    Tags::new(pairs.iter().map(|(k, v)| (k.as_str(), v.as_str())))
}

/// One in a hundred is silent for a day, the others were heard of just now.
fn last_seen(number: usize, now: Micros) -> Micros {
    match number % 100 {
        0 => now.saturating_add(-86_400_000_000 - number as i64),
        _ => now,
    }
}

fn put(number: usize) -> SensorPut {
    let site = format!("site-{:02}", number % SITES);
    SensorPut {
        id: sensor(number),
        expect: None,
        target: RecordVersion { rev: 1, by: 1 },
        details: SensorDetails {
            name: Some(format!("Device {number}").into()),
            site: Some(SiteCopy {
                id: SiteId::new(&site).unwrap(),
                name: Some(site.as_str().into()),
                city: Some("Bern".into()),
                rev: 1,
            }),
            ..SensorDetails::default()
        },
        attributes_removed: Vec::new(),
    }
}

async fn fill(store: &MongoStore, hourglass: &Hourglass) {
    for number in 0..SITES {
        let path = hourglass.url(&format!("/v1/sites/site-{number:02}"));
        let body = json!({ "name": format!("site-{number:02}"), "city": "Bern" });
        let put = hourglass.http().put(path).json(&body).send().await.unwrap();
        assert_eq!(put.status(), 201);
    }
    let now = HourStart::from_hours(0).start().saturating_add(
        i64::try_from(
            std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .unwrap()
                .as_micros(),
        )
        .unwrap(),
    );
    for first in (0..SENSORS).step_by(1000) {
        let numbers = first..first + 1000;
        let told = numbers.clone().map(|number| SensorTold {
            sensor: sensor(number),
            last_seen: Some(last_seen(number, now)),
            attributes: attributes(number),
            recent: None,
        });
        let outcomes = store.touch(&told.collect::<Vec<_>>()).await.unwrap();
        assert!(outcomes.iter().all(|o| matches!(o, WriteOutcome::Stored)));
        let puts: Vec<SensorPut> = numbers.map(put).collect();
        let outcomes = store.put_sensors(&puts).await.unwrap();
        assert!(outcomes.iter().all(|o| matches!(o, WriteOutcome::Stored)));
    }
}

/// The notes of the profiler on what hourglass did.
async fn notes(database: &mongodb::Database) -> Vec<Document> {
    let profile = database.collection::<Document>("system.profile");
    let noted = profile.find(doc! { "appName": "hourglass" }).await.unwrap();
    noted.try_collect().await.unwrap()
}

fn number(note: &Document, name: &str) -> i64 {
    match note.get(name) {
        Some(Bson::Int32(number)) => i64::from(*number),
        Some(Bson::Int64(number)) => *number,
        _ => 0,
    }
}

/// What a list of `path` costs: its time over many requests, and the keys and
/// documents of one. Answers how many sensors it found.
async fn ask(hourglass: &Hourglass, database: &mongodb::Database, path: &str) -> usize {
    let before = notes(database).await.len();
    let (status, first) = hourglass.get(path).await;
    assert_eq!(status, 200, "{path}: {first}");
    let after = notes(database).await;
    let of_lists = after[before..].iter().filter(|note| {
        note.get_str("ns").unwrap().ends_with(".sensors")
            && note.get_str("op").is_ok_and(|op| op == "query")
    });
    let (mut keys, mut documents) = (0, 0);
    for note in of_lists {
        keys += number(note, "keysExamined");
        documents += number(note, "docsExamined");
    }
    let mut took: Vec<Duration> = Vec::with_capacity(ASKED);
    for _ in 0..ASKED {
        let started = Instant::now();
        let (_, again) = hourglass.get(path).await;
        took.push(started.elapsed());
        assert_eq!(again["sensors"], first["sensors"]);
    }
    took.sort_unstable();
    let found = first["sensors"].as_array().unwrap().len();
    println!(
        "{path}: {found} found, {keys} keys, {documents} documents, p50 {:?}, p99 {:?}",
        took[ASKED / 2],
        took[ASKED * 99 / 100]
    );
    found
}

#[tokio::test]
async fn lists_of_a_large_fleet_use_their_indexes_and_nothing_is_scanned() {
    let test = TestDatabase::new().await;
    let database = test.open().await;
    // The default holds 1 MB, which a few hundred notes fill.
    let profile = doc! { "create": "system.profile", "capped": true, "size": 256 << 20 };
    database.run_command(profile).await.unwrap();
    database.run_command(doc! { "profile": 2 }).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let hourglass = Start::on(dir.path()).store(&test.uri()).start();
    let store = MongoStore::connect(&test.uri(), MongoSettings::default()).unwrap();
    fill(&store, &hourglass).await;

    let list = |query: &str| format!("/v1/sensors?limit=1000&{query}");
    let ask = async |query: &str| ask(&hourglass, &database, &list(query)).await;
    assert_eq!(ask("site=site-07").await, SENSORS / SITES);
    // 1 in 20 has v3 of k18, 1 in 21 has v4 of k19.
    let both = (0..SENSORS).filter(|n| n % 20 == 3 && n % 21 == 4).count();
    assert_eq!(ask("attr.k18=v3&attr.k19=v4").await, both);
    assert_eq!(ask("silent_for=1h").await, SENSORS / 100);
    assert_eq!(ask("site=site-07&attr.k00=v1").await, SENSORS / SITES);
    assert_eq!(ask("attr_prefix.k19=v2").await, {
        (0..SENSORS).filter(|n| [2, 20].contains(&(n % 21))).count()
    });
    assert_eq!(ask("").await, 1000);

    the_rest_of_the_interface(&hourglass).await;
    let notes = notes(&database).await;
    assert!(notes.len() > 300, "{} notes", notes.len());
    for note in notes {
        let plan = note.get_str("planSummary").unwrap_or_default();
        assert!(!plan.contains("COLLSCAN"), "{note}");
        let command = note.get_document("command").map(ToString::to_string);
        assert!(!command.unwrap_or_default().contains("$lookup"), "{note}");
    }
}

/// Everything else that reads or writes the registry and the buckets, once.
async fn the_rest_of_the_interface(hourglass: &Hourglass) {
    let client = hourglass.http();
    let readings = json!([
        { "sensorId": "device-00007", "ts": "2026-05-01T10:00:00Z", "temp": 20.5 },
        { "sensorId": "device-00007", "ts": "2026-05-01T11:00:00Z", "temp": 21.5 },
        { "sensorId": "device-00057", "ts": "2026-05-01T10:00:00Z", "temp": 22.5 },
    ]);
    assert_eq!(hourglass.post(&readings).await.0, 202);
    let day = "from=2026-05-01T00:00:00Z&to=2026-05-02T00:00:00Z";
    for path in [
        "/v1/sensors/device-00007".to_owned(),
        format!("/v1/sensors/device-00007/readings?{day}"),
        format!("/v1/sensors/device-00007/hourly?{day}"),
        format!("/v1/sites/site-07/hourly?{day}"),
        "/v1/latest?sensor=device-00007&sensor=device-00057".to_owned(),
        "/v1/sites".to_owned(),
        "/v1/sites/site-07".to_owned(),
        "/v1/retention".to_owned(),
        "/metrics".to_owned(),
    ] {
        let (status, _) = hourglass.get_text(&path).await;
        assert_eq!(status, 200, "{path}");
    }
    let patch = client.patch(hourglass.url("/v1/sensors/device-00007"));
    let patch = patch.header("content-type", "application/merge-patch+json");
    let patched = patch.body(r#"{"model":"SHT31"}"#).send().await.unwrap();
    assert_eq!(patched.status(), 200);
    let renamed = client.put(hourglass.url("/v1/sites/site-07"));
    let renamed = renamed.json(&json!({ "name": "Plant 7" })).send().await;
    assert!(renamed.unwrap().status().is_success());
    let path = format!("/v1/sensors/device-00007/readings?{day}");
    let deleted = client.delete(hourglass.url(&path)).send().await.unwrap();
    assert_eq!(deleted.status(), 200);
}
