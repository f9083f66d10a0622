//! Hours of which only the computed fields are left.

use std::path::Path;

use hourglass::model::{HourRange, Micros, SensorId};
use hourglass::store::embedded::{EmbeddedSettings, EmbeddedStore};
use hourglass::store::{SensorHoursRange, Store};
use serde_json::{Value, json};

use super::there_and_back::{embedded, migrate};
use crate::support::hourglass::Start;
use crate::support::mongod::TestDatabase;

async fn with_a_dropped_hour(dir: &Path) {
    let hourglass = Start::on(dir).start();
    let reading =
        |ts: &str, temp: f64| json!({ "sensorId": "S1", "ts": ts, "temp": temp, "a.b": -temp });
    let readings = vec![
        reading("2026-05-01T10:00:00Z", 0.1),
        reading("2026-05-01T10:00:01Z", 0.2),
        reading("2026-05-01T12:00:00Z", 0.3),
    ];
    assert_eq!(hourglass.post(&Value::Array(readings)).await.0, 202);
    assert!(hourglass.stop().0.success());
    let store = EmbeddedStore::open(&dir.join("store"), EmbeddedSettings::default()).unwrap();
    let from = Micros::new(1_777_629_600_000_000).unwrap().hour();
    let range = SensorHoursRange {
        sensor: SensorId::new("S1").unwrap(),
        hours: HourRange {
            from,
            to: from.next(),
        },
    };
    assert_eq!(store.drop_readings(&[range], 88).await.unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn computed_fields_of_dropped_readings_go_along() {
    let database = TestDatabase::new().await;
    let uri = database.uri();
    let (first, last) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    with_a_dropped_hour(first.path()).await;
    for (from, to) in [
        (embedded(first.path()), uri.clone()),
        (uri.clone(), embedded(last.path())),
    ] {
        for counts in ["2 buckets copied, 0 there", "0 buckets copied, 2 there"] {
            let (code, stdout, stderr) = migrate(&from, &to);
            assert_eq!(code, Some(0), "{stdout}{stderr}");
            assert!(stdout.contains(counts), "{stdout}");
            let same = "2 buckets with 1 readings are the same, 0 records differ";
            assert!(stdout.contains(same), "{stdout}");
        }
    }
    let hourglass = Start::on(last.path()).start();
    let range = "from=2026-05-01T10:00:00Z&to=2026-05-01T11:00:00Z";
    let (_, hours) = hourglass
        .get(&format!("/v1/sensors/S1/hourly?{range}"))
        .await;
    assert_eq!(hours["hours"][0]["count"], json!(2), "{hours}");
    assert_eq!(hours["hours"][0]["measures"]["a.b"]["max"], json!(-0.1));
    let (_, raw) = hourglass
        .get(&format!("/v1/sensors/S1/readings?{range}"))
        .await;
    assert_eq!(raw["readings"], json!([]), "{raw}");
    assert!(hourglass.stop().0.success());
}
