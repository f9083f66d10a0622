//! `/v1/conflicts`: the newest refused values, as many as are kept.

use serde_json::{Value, json};
use tempfile::TempDir;

use super::fixture::{OLD, post, quiet};
use crate::support::hourglass::Start;

fn reading(sensor: &str, measures: Value) -> Value {
    json!({ "sensorId": sensor, "ts": OLD, "measures": measures })
}

#[tokio::test]
async fn conflicts_are_listed_newest_first_and_bounded() {
    let dir = TempDir::new().unwrap();
    let hourglass = Start::on(dir.path())
        .set("BUFFER__CONFLICTS_KEPT", "3")
        .start();
    assert_eq!(
        hourglass.get("/v1/conflicts").await,
        (200, json!({ "conflicts": [] }))
    );
    let first = jiff::Timestamp::now();
    post(&hourglass, &reading("S1", json!({ "temp": 0 }))).await;
    for temp in 1..=5 {
        post(&hourglass, &reading("S1", json!({ "temp": temp }))).await;
    }
    let (_, answer) = hourglass.get("/v1/conflicts").await;
    let list = answer["conflicts"].as_array().unwrap();
    let refused: Vec<&Value> = list.iter().map(|conflict| &conflict["refused"]).collect();
    assert_eq!(refused, [5.0, 4.0, 3.0]);
    let mut last = jiff::Timestamp::now();
    for conflict in list {
        assert_eq!(conflict["kept"], 0.0);
        assert_eq!(conflict["ts"], "2026-05-01T10:00:00Z");
        let received: jiff::Timestamp = conflict["receivedAt"].as_str().unwrap().parse().unwrap();
        assert!(first.as_microsecond() <= received.as_microsecond());
        assert!(received <= last);
        last = received;
    }
    let counted = hourglass.metric("hourglass_values_conflict_total").await;
    assert_eq!(counted, 5.0);
}

#[tokio::test]
async fn only_the_measures_that_differ_are_conflicts() {
    let dir = TempDir::new().unwrap();
    let hourglass = quiet(&dir).start();
    post(
        &hourglass,
        &reading("a|b", json!({ "temp": 1, "humidity": 2 })),
    )
    .await;
    let other = json!({ "temp": 1, "humidity": 3, "pressure": 4 });
    post(&hourglass, &reading("a|b", other)).await;
    post(&hourglass, &reading("a", json!({ "humidity": 5 }))).await;
    let (_, answer) = hourglass.get("/v1/conflicts").await;
    let list = answer["conflicts"].as_array().unwrap();
    assert_eq!(list.len(), 1, "{answer}");
    assert_eq!(
        (&list[0]["sensorId"], &list[0]["measure"]),
        (&json!("a|b"), &json!("humidity"))
    );
    let (_, latest) = hourglass.get("/v1/sensors/a%7Cb/latest").await;
    assert_eq!(
        latest["latest"]["measures"],
        json!({ "temp": 1.0, "humidity": 2.0, "pressure": 4.0 })
    );
}
