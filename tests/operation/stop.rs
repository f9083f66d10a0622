//! I10, I1: a clean stop leaves nothing to recover; one whose grace ran out, or
//! a kill, leaves it to the next start.

use serde_json::json;

use super::builders::{count, hourly, post, says, until_recovered, until_stored};
use crate::support::hourglass::Start;
use crate::support::mongod::Mongod;

const NO_RECOVERY: &str = "the journal is empty: no recovery";

#[tokio::test]
async fn a_clean_stop_puts_everything_into_the_store() {
    let dir = tempfile::tempdir().unwrap();
    let start = Start::on(dir.path());
    for round in 0..3 {
        let hourglass = start.start();
        assert!(
            says(&hourglass.log(), NO_RECOVERY),
            "{:#?}",
            hourglass.log()
        );
        assert_eq!(count(&hourglass, "S1").await, u64::from(round * 50));
        post(&hourglass, "S1", round * 50..round * 50 + 50).await;
        // Its hour is open for a long time yet: only the stop flushes it.
        let open = json!({ "sensorId": "now", "temp": 1.0 });
        assert_eq!(hourglass.post(&open).await.0, 202);
        let (status, log) = hourglass.stop();
        assert!(status.success());
        assert!(
            says(&log, "everything accepted is in the store"),
            "{log:#?}"
        );
    }
}

#[tokio::test]
async fn a_kill_loses_nothing_that_was_accepted() {
    let dir = tempfile::tempdir().unwrap();
    let start = Start::on(dir.path());
    for round in 0..3 {
        let hourglass = start.start();
        assert_eq!(says(&hourglass.log(), "recovering"), round > 0);
        until_recovered(&hourglass).await;
        assert_eq!(count(&hourglass, "S1").await, u64::from(round * 50));
        let open = json!({ "sensorId": "now", "temp": 1.0 });
        assert_eq!(hourglass.post(&open).await.0, 202);
        post(&hourglass, "S1", round * 50..round * 50 + 50).await;
        hourglass.kill_9();
    }
    let hourglass = start.start();
    until_recovered(&hourglass).await;
    assert_eq!(count(&hourglass, "S1").await, 150);
    assert!(hourglass.stop().0.success());
    assert!(says(&start.start().log(), NO_RECOVERY));
}

#[tokio::test]
async fn a_stop_without_grace_or_store_says_what_is_left_and_the_next_start_recovers_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut mongod = Mongod::new();
    let start = Start::on(dir.path())
        .store(&mongod.uri_of("left"))
        .set("STORE__CONNECT_TIMEOUT", "200ms");
    let hourglass = start.clone().set("SHUTDOWN__GRACE", "0s").start();
    for round in 0..3 {
        post(&hourglass, "S1", round * 10..round * 10 + 10).await;
    }
    let (status, log) = hourglass.stop();
    assert!(status.success());
    let left = log.iter().find(|line| line.contains("the grace ran out"));
    assert!(
        left.is_some_and(|line| line.contains("\"records\":3")),
        "{log:#?}"
    );

    let hourglass = start.start();
    assert!(says(&hourglass.log(), "recovering"));
    assert_eq!(
        hourglass.metric("hourglass_values_recovered_total").await,
        30.0
    );
    until_recovered(&hourglass).await;
    let answer = hourly(&hourglass, "S1").await;
    assert_eq!(answer["hours"][0]["count"], 30);
    mongod.start().await;
    until_stored(&hourglass).await;
    let answer = hourly(&hourglass, "S1").await;
    assert_eq!(
        (&answer["hours"][0]["count"], &answer["complete"]),
        (&json!(30), &json!(true))
    );
    assert!(says(
        &hourglass.stop().1,
        "everything accepted is in the store"
    ));
    assert!(says(&start.start().log(), NO_RECOVERY));
}
