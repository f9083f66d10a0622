//! `Idempotency-Key` on InfluxDB's endpoints: lines without a time are stored
//! once however often they are sent.

use super::builders::{Endpoint, INFLUX, assert_balanced, readings, started};
use crate::support::hourglass::Hourglass;

async fn send(
    hourglass: &Hourglass,
    endpoint: Endpoint,
    key: &str,
    body: &'static str,
) -> (u16, bool, String) {
    let request = endpoint.request(hourglass, "", body);
    let request = request.header("idempotency-key", key);
    let response = request.send().await.unwrap();
    let is_replayed = response.headers().contains_key("idempotency-replayed");
    let status = response.status().as_u16();
    (status, is_replayed, response.text().await.unwrap())
}

#[tokio::test]
async fn a_retry_with_the_same_key_is_answered_and_stores_nothing() {
    let (_dir, hourglass) = started();
    for endpoint in INFLUX {
        let body = match endpoint {
            Endpoint::V1 => "m,sensor=v1 temp=1\n",
            _ => "m,sensor=v2 temp=1\n",
        };
        for is_replayed in [false, true, true] {
            let answer = send(&hourglass, endpoint, "batch-1", body).await;
            // The same key on another endpoint is another request.
            let expected = match endpoint {
                Endpoint::V1 => (204, is_replayed, String::new()),
                _ => (422, false, answer.2.clone()),
            };
            assert_eq!(answer, expected);
        }
        let own = format!("{endpoint:?}");
        for is_replayed in [false, true] {
            let answer = send(&hourglass, endpoint, &own, "m,sensor=own temp=1\n").await;
            assert_eq!(answer, (204, is_replayed, String::new()));
        }
    }
    assert_eq!(readings(&hourglass, "v1").await.len(), 1);
    assert_eq!(readings(&hourglass, "v2").await.len(), 0);
    assert_eq!(readings(&hourglass, "own").await.len(), 2);
    assert_balanced(&hourglass).await;
}

#[tokio::test]
async fn a_partial_write_and_a_reused_key_are_told_in_the_forms_of_each() {
    let (_dir, hourglass) = started();
    for endpoint in INFLUX {
        let key = format!("{endpoint:?}");
        let body = "m,sensor=A temp=1\nm,sensor=B temp=NaN\n";
        let first = send(&hourglass, endpoint, &key, body).await;
        assert_eq!((first.0, first.1), (400, false));
        let again = send(&hourglass, endpoint, &key, body).await;
        assert_eq!(again, (400, true, first.2));
        let (status, _, reused) = send(&hourglass, endpoint, &key, "m,sensor=C temp=1\n").await;
        let form = match endpoint {
            Endpoint::V1 => "{\"error\":\"the idempotency key was used",
            _ => "{\"code\":\"unprocessable entity\",\"message\":\"the idempotency key",
        };
        assert_eq!(status, 422);
        assert!(reused.starts_with(form), "{reused}");
        let (status, _, invalid) = send(&hourglass, endpoint, &"k".repeat(256), body).await;
        assert_eq!(status, 400, "{invalid}");
    }
    assert_eq!(readings(&hourglass, "A").await.len(), 2);
    assert_balanced(&hourglass).await;
}
