//! `/v1/conflicts`: the newest refused values, for inspection.

use serde_json::{Value, json};

use super::answers::{at, expect_problem, flushed, get, post};
use crate::support::eventually::eventually;
use crate::support::hourglass::Hourglass;
use crate::support::site::{Site, each_store};

async fn conflicts(hourglass: &Hourglass) -> Vec<Value> {
    let (status, answer) = hourglass.get("/v1/conflicts").await;
    assert_eq!(status, 200, "{answer}");
    answer["conflicts"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_refused_value_is_shown_with_the_one_that_stays() {
    for site in each_store().await {
        let hourglass = site.start().start();
        assert_eq!(conflicts(&hourglass).await, [Value::Null; 0]);
        let first = json!({ "sensorId": "a|b", "ts": at(1), "temp": 1, "hum": 2 });
        post(&hourglass, &first).await;
        flushed(&hourglass).await;
        let before = jiff::Timestamp::now();
        let second = json!({ "sensorId": "a|b", "ts": at(1), "temp": 1.5, "hum": 2, "co2": 3 });
        post(&hourglass, &second).await;
        // Of an hour that is in the store and not in memory, the flush finds it.
        flushed(&hourglass).await;
        let told = conflicts(&hourglass).await;
        let received_at = told[0]["receivedAt"].as_str().unwrap();
        let received: jiff::Timestamp = received_at.parse().unwrap();
        assert!(before.as_microsecond() <= received.as_microsecond());
        let expected = json!({
            "sensorId": "a|b", "ts": at(1), "measure": "temp",
            "kept": 1.0, "refused": 1.5, "receivedAt": received_at,
        });
        assert_eq!(told, [expected]);
        let stored = get(&hourglass, "/v1/sensors/a%7Cb/latest").await;
        let measures = json!({ "temp": 1.0, "hum": 2.0, "co2": 3.0 });
        assert_eq!(stored["latest"]["measures"], measures);
        assert_eq!(
            hourglass.metric("hourglass_values_conflict_total").await,
            1.0
        );
    }
}

#[tokio::test]
async fn the_newest_come_first_and_no_more_than_are_kept() {
    let site = Site::embedded().await;
    let hourglass = site.start().set("BUFFER__CONFLICTS_KEPT", "12").start();
    for temp in 0..6 {
        post(
            &hourglass,
            &json!({ "sensorId": "S1", "ts": at(0), "temp": temp }),
        )
        .await;
    }
    let told = conflicts(&hourglass).await;
    let refused: Vec<_> = told
        .iter()
        .map(|c| c["refused"].as_f64().unwrap())
        .collect();
    assert_eq!(refused, [5.0, 4.0, 3.0]);
    assert_eq!(
        hourglass.metric("hourglass_values_conflict_total").await,
        5.0
    );
}

#[tokio::test]
async fn those_of_one_sensor_are_not_pushed_out_by_another() {
    let site = Site::embedded().await;
    let hourglass = site.start().set("BUFFER__CONFLICTS_KEPT", "12").start();
    for (sensor, temps) in [("a/b", 0..3), ("loud", 0..40)] {
        for temp in temps {
            let item = json!({ "sensorId": sensor, "ts": at(0), "temp": temp });
            post(&hourglass, &item).await;
        }
    }
    let refused = async |path: &str| -> Vec<f64> {
        let (status, answer) = hourglass.get(path).await;
        assert_eq!(status, 200, "{answer}");
        let told = answer["conflicts"].as_array().unwrap().iter();
        told.map(|c| c["refused"].as_f64().unwrap()).collect()
    };
    assert_eq!(refused("/v1/sensors/a%2Fb/conflicts").await, [2.0, 1.0]);
    assert_eq!(refused("/v1/sensors/a%2Fb/conflicts?limit=1").await, [2.0]);
    assert_eq!(
        refused("/v1/sensors/loud/conflicts").await,
        [39.0, 38.0, 37.0]
    );
    assert_eq!(refused("/v1/sensors/none/conflicts").await, [0.0; 0]);
    assert_eq!(refused("/v1/conflicts").await, [39.0, 38.0, 37.0, 2.0, 1.0]);
}

#[tokio::test]
async fn those_that_are_too_old_are_not_shown() {
    let site = Site::embedded().await;
    let old = site.start().set("BUFFER__CONFLICTS_AGE_MAX", "1s").start();
    for temp in 0..2 {
        let item = json!({ "sensorId": "S1", "ts": at(0), "temp": temp });
        post(&old, &item).await;
    }
    let gone = async || conflicts(&old).await.is_empty().then_some(());
    eventually("the conflict is too old", gone).await;
    assert_eq!(old.metric("hourglass_values_conflict_total").await, 1.0);
}

#[tokio::test]
async fn it_takes_no_parameter() {
    let site = Site::embedded().await;
    let hourglass = site.start().start();
    let request = hourglass
        .http()
        .get(hourglass.url("/v1/conflicts?sensor=S1"));
    let detail = "the parameter `sensor` is unknown; none is taken here";
    expect_problem(request, 400, "invalid_parameter", detail).await;
}
