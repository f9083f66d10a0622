//! I6, I8: with the store away the journal fills up to its bound, says so, and
//! drains by itself when the store comes back; everything accepted is stored
//! exactly once.

use serde_json::json;

use super::builders::{count, hourly, post, readings, until, until_stored};
use crate::support::hourglass::Start;
use crate::support::mongod::Mongod;

#[tokio::test]
async fn a_journal_at_its_bound_refuses_and_drains_when_the_store_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let mut mongod = Mongod::new();
    let hourglass = Start::on(dir.path())
        .store(&mongod.uri_of("full"))
        .set("STORE__CONNECT_TIMEOUT", "200ms")
        .set("JOURNAL__SEGMENT_BYTES", "64KiB")
        .set("JOURNAL__BYTES_MAX", "128KiB")
        .start();
    let sensor = |number: usize| format!("S{number}");
    let mut full = 0;
    let refusal = loop {
        let request = hourglass.http().post(hourglass.url("/v1/readings"));
        let request = request.header("content-type", "application/json");
        let body = readings(&sensor(full), 0..500).to_string();
        let response = request.body(body).send().await.unwrap();
        if response.status().as_u16() != 202 {
            break response;
        }
        full += 1;
        assert!(full < 1000, "it has no bound");
    };
    assert_eq!(refusal.status().as_u16(), 503);
    let header = |name| refusal.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header("content-type"), "application/problem+json");
    assert!(header("retry-after").parse::<u64>().unwrap() > 0);
    let problem: serde_json::Value = refusal.json().await.unwrap();
    assert_eq!(problem["code"], "journal_full", "{problem}");

    assert!(full > 5);
    let (bytes, bytes_max) = (
        hourglass.metric("hourglass_journal_bytes").await,
        hourglass.metric("hourglass_journal_bytes_max").await,
    );
    assert!(bytes <= bytes_max, "{bytes} of {bytes_max}");
    until(|| async {
        let (status, ready) = hourglass.get("/readyz").await;
        assert_eq!((status, &ready["journal"]), (503, &json!("full")));
        ready["store"] == "down"
    })
    .await;
    let answer = hourly(&hourglass, "S0").await;
    assert_eq!(answer["complete"], false);
    assert_eq!(answer["incompleteReason"], "store_unavailable");
    assert_eq!(answer["hours"][0]["count"], 500);

    mongod.start().await;
    until(|| async { hourglass.get("/readyz").await.0 == 200 }).await;
    post(&hourglass, &sensor(full), 0..500).await;
    until_stored(&hourglass).await;
    for number in 0..=full {
        assert_eq!(count(&hourglass, &sensor(number)).await, 500);
    }
    let answer = hourly(&hourglass, "S0").await;
    assert_eq!(answer["complete"], true, "{answer}");
    assert_eq!(
        hourglass.metric("hourglass_values_duplicate_total").await,
        0.0
    );
    let stored = hourglass.metric("hourglass_values_stored_total").await;
    assert_eq!(stored, (full + 1) as f64 * 500.0);
    assert!(hourglass.stop().0.success());
}
