//! `hourglass verify` on what records of sensors hold of buckets and of sites, on
//! both stores.

use std::path::Path;
use std::sync::Arc;

use hourglass::model::{Micros, RecentReading, SensorId, Tags};
use hourglass::store::embedded::{EmbeddedSettings, EmbeddedStore};
use hourglass::store::mongodb::{MongoSettings, MongoStore};
use hourglass::store::{
    RecentWrite, RecordVersion, SensorHoursRange, SensorPut, SensorTold, Store, StoredSensor,
    WriteOutcome,
};
use serde_json::json;

use super::builders::{post, until_stored};
use super::verify::verify;
use crate::support::hourglass::{Hourglass, Start};
use crate::support::mongod::TestDatabase;

/// Two sensors of one site.
async fn fill(hourglass: &Hourglass) {
    for sensor in ["S1", "S2"] {
        post(hourglass, sensor, 0..30).await;
    }
    until_stored(hourglass).await;
    let site = json!({ "name": "Mill", "city": "Zug" });
    let sensor = json!({ "site": "B1" });
    for (path, body) in [
        ("/v1/sites/B1", &site),
        ("/v1/sensors/S1", &sensor),
        ("/v1/sensors/S2", &sensor),
    ] {
        let request = hourglass.http().put(hourglass.url(path)).json(body);
        let response = request.send().await.unwrap();
        assert!(response.status().is_success(), "{path}");
    }
}

async fn sensor(store: &dyn Store, id: &str) -> StoredSensor {
    let sensors = store.sensors(&[SensorId::new(id).unwrap()]).await.unwrap();
    sensors.into_iter().next().unwrap()
}

fn after(version: Option<RecordVersion>) -> RecordVersion {
    RecordVersion {
        rev: version.map_or(0, |version| version.rev) + 1,
        by: 77,
    }
}

/// S1 lacks its newest reading; S2 has another name of its site.
async fn plant(store: &dyn Store) {
    let first = sensor(store, "S1").await;
    let told = SensorTold {
        sensor: first.id.clone(),
        last_seen: None,
        attributes: Tags::default(),
        recent: Some(RecentWrite {
            expect: first.recent.version,
            target: after(first.recent.version),
            readings: first.recent.readings[1..].to_vec(),
        }),
    };
    let told = store.touch(&[told]).await.unwrap();
    assert!(matches!(told[..], [WriteOutcome::Stored]));
    let second = sensor(store, "S2").await;
    let mut details = second.details.clone();
    details.site.as_mut().unwrap().name = Some("Tower".into());
    let put = SensorPut {
        id: second.id.clone(),
        expect: second.version,
        target: after(second.version),
        details,
        attributes_removed: Vec::new(),
    };
    let put = store.put_sensors(&[put]).await.unwrap();
    assert!(matches!(put[..], [WriteOutcome::Stored]));
}

fn assert_finds_and_mends(data_dir: &Path, store: &str) {
    for (repair, code) in [(false, 3), (true, 0)] {
        let (found, stdout, stderr) = verify(data_dir, store, repair);
        assert_eq!(found, Some(code), "{stdout}{stderr}");
        for part in [
            "sensor S1: its 19 newest readings are not those of its buckets",
            "sensor S2: its copy of site B1 is not what the site says",
            "2 sensors: newest readings of 1 differ, ",
            "copies of sites of 1 differ, ",
        ] {
            assert!(stdout.contains(part), "{part}: {stdout}");
        }
    }
    assert_clean(data_dir, store);
}

fn assert_clean(data_dir: &Path, store: &str) {
    let (code, stdout, stderr) = verify(data_dir, store, false);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    let clean = "2 sensors: newest readings of 0 differ, 0 repaired; copies of sites of 0 differ";
    assert!(stdout.contains(clean), "{stdout}");
}

async fn assert_mended(store: &dyn Store) {
    let newest: &RecentReading = &sensor(store, "S1").await.recent.readings[0];
    assert_eq!(newest.at, Micros::new(1_777_629_629_000_000).unwrap());
    let copy = sensor(store, "S2").await.details.site.unwrap();
    assert_eq!(copy.name.as_deref(), Some("Mill"));
}

/// What retention drops leaves nothing to hold computed fields to: they are no
/// difference, and stay.
async fn drop_readings(store: &dyn Store) {
    let id = SensorId::new("S1").unwrap();
    let hours = Micros::new(1_777_629_600_000_000).unwrap().hour();
    let range = SensorHoursRange {
        sensor: id,
        hours: hourglass::model::HourRange {
            from: hours,
            to: hours.next(),
        },
    };
    assert_eq!(store.drop_readings(&[range], 88).await.unwrap(), 1);
    let first = sensor(store, "S1").await;
    let told = SensorTold {
        sensor: first.id.clone(),
        last_seen: None,
        attributes: Tags::default(),
        recent: Some(RecentWrite {
            expect: first.recent.version,
            target: after(first.recent.version),
            readings: Vec::new(),
        }),
    };
    store.touch(&[told]).await.unwrap();
}

#[tokio::test]
async fn records_in_the_embedded_store_are_held_to_buckets_and_sites() {
    let dir = tempfile::tempdir().unwrap();
    let hourglass = Start::on(dir.path()).start();
    fill(&hourglass).await;
    assert!(hourglass.stop().0.success());
    assert_clean(dir.path(), "embedded");
    let open = || {
        let opened =
            EmbeddedStore::open(&dir.path().join("store"), EmbeddedSettings::default()).unwrap();
        Arc::new(opened) as Arc<dyn Store>
    };
    plant(&*open()).await;
    assert_finds_and_mends(dir.path(), "embedded");
    assert_mended(&*open()).await;
    drop_readings(&*open()).await;
    assert_clean(dir.path(), "embedded");
    let (_, stdout, _) = verify(dir.path(), "embedded", true);
    assert!(stdout.contains("1 parts without readings"), "{stdout}");
}

#[tokio::test(flavor = "multi_thread")]
async fn records_in_mongodb_are_held_to_buckets_and_sites() {
    let database = TestDatabase::new().await;
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let uri = database.uri();
    let hourglass = Start::on(dir.path()).store(&uri).start();
    fill(&hourglass).await;
    assert_clean(other.path(), &uri);
    let store = MongoStore::connect(&uri, MongoSettings::default()).unwrap();
    plant(&store).await;
    assert_finds_and_mends(other.path(), &uri);
    assert_mended(&store).await;
    drop_readings(&store).await;
    assert_clean(other.path(), &uri);
    assert!(hourglass.stop().0.success());
}
