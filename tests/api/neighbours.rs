//! A bad item costs no other item its place.

use serde_json::json;

use super::answers::{expect_unharmed, started};

const ITEMS: usize = 10_000;

fn items(bad_at: usize, bad: &str) -> String {
    let items: Vec<String> = (0..ITEMS)
        .map(|n| match n == bad_at {
            true => bad.to_owned(),
            false => {
                let ts = 1_777_629_600_000_u64 + n as u64 * 100;
                format!(r#"{{"sensorId":"S1","ts":{ts},"temp":{n}}}"#)
            }
        })
        .collect();
    format!("[{}]", items.join(","))
}

#[tokio::test]
async fn one_bad_item_of_ten_thousand_is_told_by_its_index_and_the_others_stored() {
    for (bad, code, field) in [
        (
            r#"{"sensorId":"S1","ts":1777630100000,"temp":1e999}"#,
            "not_finite",
            json!("temp"),
        ),
        (
            r#"{"ts":1777630100000,"temp":1}"#,
            "missing_sensor_id",
            json!("sensorId"),
        ),
        ("1e999", "invalid_json", json!(null)),
        (r#"{"\udc00":1}"#, "invalid_json", json!(null)),
        ("[[[]]]", "not_an_object", json!(null)),
    ] {
        let (_dir, hourglass) = started();
        let bad_at = ITEMS / 2;
        let (status, answer) = hourglass
            .post_as("application/json", items(bad_at, bad))
            .await;
        assert_eq!(status, 202, "{answer}");
        assert_eq!(answer["accepted"], ITEMS - 1);
        assert_eq!(answer["rejected"], 1);
        assert_eq!(answer["rejectedByCode"], json!({ code: 1 }));
        assert_eq!(answer["errors"].as_array().unwrap().len(), 1);
        assert_eq!(answer["errors"][0]["index"], bad_at);
        assert_eq!(answer["errors"][0]["code"], code);
        assert_eq!(answer["errors"][0]["field"], field);

        let path = format!("/v1/sensors/S1/readings?limit={ITEMS}");
        let (_, answer) = hourglass.get(&path).await;
        let stored = answer["readings"].as_array().unwrap();
        assert_eq!(stored.len(), ITEMS - 1);
        let values = stored
            .iter()
            .map(|r| r["measures"]["temp"].as_f64().unwrap());
        let sent = (0..ITEMS).filter(|n| *n != bad_at).map(|n| n as f64);
        assert!(values.eq(sent), "in order, each in its place");
        expect_unharmed(&hourglass).await;
    }
}

/// C16: nothing is taken over from the item before.
#[tokio::test]
async fn c16_an_item_takes_nothing_from_the_one_before() {
    let (_dir, hourglass) = started();
    let good = json!({"sensorId": "S1", "ts": "2026-05-01T10:00:00Z", "temp": 1});
    let body = json!([good, {"temp": 2}, {"sensorId": "S1"}, {"sensorId": "S2", "temp": 3}]);
    let (status, answer) = hourglass.post(&body).await;
    assert_eq!(status, 202, "{answer}");
    assert_eq!(answer["accepted"], 2);
    assert_eq!(answer["errors"][0]["index"], 1);
    assert_eq!(answer["errors"][0]["code"], "missing_sensor_id");
    assert_eq!(answer["errors"][1]["index"], 2);
    assert_eq!(answer["errors"][1]["code"], "no_measures");
    let (_, answer) = hourglass.get("/v1/sensors/S2/latest").await;
    assert_ne!(answer["latest"]["ts"], "2026-05-01T10:00:00Z");
    expect_unharmed(&hourglass).await;
}

/// C13: a list of the first hundred, and exact totals by reason.
#[tokio::test]
async fn c13_many_bad_items_are_listed_to_a_hundred_and_counted_to_the_last() {
    let (_dir, hourglass) = started();
    let bad: Vec<_> = (0..1_000)
        .map(|n| match n % 4 {
            0 => json!({"sensorId": "S1", "temp": "warm"}),
            _ => json!({"sensorId": ".", "temp": 1}),
        })
        .collect();
    let (status, answer) = hourglass.post(&json!(bad)).await;
    assert_eq!(status, 422, "{answer}");
    assert_eq!(answer["rejected"], 1_000);
    assert_eq!(answer["errors"].as_array().unwrap().len(), 100);
    assert_eq!(answer["errors"][99]["index"], 99);
    let totals = json!({"no_measures": 250, "invalid_sensor_id": 750});
    assert_eq!(answer["rejectedByCode"], totals);
    expect_unharmed(&hourglass).await;
}
