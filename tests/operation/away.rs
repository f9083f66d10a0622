//! I4, I8: while the store is frozen and the applier lags, readings are taken
//! and queries say that they may miss some; afterwards they miss none.

use serde_json::{Value, json};

use super::builders::{count, hourly, post, until, until_store_is, until_stored};
use crate::support::hourglass::{Hourglass, Start};
use crate::support::mongod::Mongod;

#[tokio::test]
async fn an_outage_that_outgrows_memory_is_taken_told_and_made_good() {
    let dir = tempfile::tempdir().unwrap();
    let mut mongod = Mongod::new();
    mongod.start().await;
    let hourglass = Start::on(dir.path())
        .store(&mongod.uri_of("away"))
        .set("STORE__CONNECT_TIMEOUT", "300ms")
        .set("BUFFER__BYTES_MAX", "1MiB")
        .start();
    post(&hourglass, "before", 0..100).await;
    until_stored(&hourglass).await;

    mongod.freeze();
    let sensor = |number: u32| format!("S{number}");
    for number in 0..40 {
        post(&hourglass, &sensor(number), 0..3600).await;
    }
    let (status, ready) = hourglass.get("/readyz").await;
    assert_eq!(
        (status, &ready["complete"]),
        (200, &json!(false)),
        "{ready}"
    );
    assert!(hourglass.metric("hourglass_applier_lag_records").await > 0.0);
    assert!(hourglass.metric("hourglass_applier_lag_bytes").await > 0.0);
    mongod.kill();
    let answer = hourly(&hourglass, "S39").await;
    assert_eq!(answer["complete"], false, "{answer}");
    assert_eq!(answer["incompleteReason"], "store_unavailable");

    mongod.start().await;
    until_stored(&hourglass).await;
    until(|| async { hourly(&hourglass, "S0").await["complete"] == true }).await;
    assert_eq!(count(&hourglass, "before").await, 100);
    for number in 0..40 {
        assert_eq!(count(&hourglass, &sensor(number)).await, 3600);
    }
    assert_eq!(
        hourglass.metric("hourglass_values_stored_total").await,
        144_100.0
    );
    assert!(hourglass.stop().0.success());
}

#[tokio::test]
async fn a_store_that_was_never_there_is_told_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let hourglass = Start::on(dir.path())
        .store("mongodb://127.0.0.1:9/hourglass?replicaSet=none")
        .set("STORE__CONNECT_TIMEOUT", "200ms")
        .set("SHUTDOWN__GRACE", "0s")
        .start();
    // Nothing was sent, so nothing is flushed.
    until(|| async {
        let (status, ready) = hourglass.get("/readyz").await;
        assert_eq!(status, 200, "{ready}");
        ready["store"] == "down" && ready["complete"] == false
    })
    .await;
    assert_eq!(hourglass.metric("hourglass_store_up").await, 0.0);
}

#[tokio::test]
async fn a_frozen_store_is_told_before_anything_is_flushed_and_up_when_it_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let mut mongod = Mongod::new();
    mongod.start().await;
    let hourglass = Start::on(dir.path()).store(&mongod.uri_of("away")).start();
    post(&hourglass, "before", 0..100).await;
    until_stored(&hourglass).await;
    let (_, ready) = hourglass.get("/readyz").await;
    assert_eq!(
        (&ready["store"], &ready["storeDownSince"]),
        (&json!("up"), &Value::Null)
    );

    mongod.freeze();
    // Nothing waits: no flush finds it out.
    until_store_is(&hourglass, "down").await;
    let (status, ready) = hourglass.get("/readyz").await;
    assert_eq!(
        (status, &ready["complete"]),
        (200, &json!(false)),
        "{ready}"
    );
    let since = ready["storeDownSince"].as_str().unwrap().to_owned();
    assert!(since.ends_with('Z'), "{since}");
    assert_eq!(hourglass.metric("hourglass_store_up").await, 0.0);
    assert!(hourglass.metric("hourglass_store_down_seconds").await > 0.0);
    post(&hourglass, "during", 0..100).await;
    until(|| async { hourglass.metric("hourglass_oldest_unflushed_seconds").await > 0.0 }).await;
    let (_, ready) = hourglass.get("/readyz").await;
    assert_eq!(ready["storeDownSince"], since, "{ready}");

    mongod.thaw();
    until_store_is(&hourglass, "up").await;
    until_stored(&hourglass).await;
    let (_, ready) = hourglass.get("/readyz").await;
    assert_eq!(
        (&ready["store"], &ready["storeDownSince"]),
        (&json!("up"), &Value::Null)
    );
    assert_eq!(ready["complete"], true, "{ready}");
    assert_eq!(hourglass.metric("hourglass_store_down_seconds").await, 0.0);
    assert_eq!(count(&hourglass, "during").await, 100);
    let (status, log) = hourglass.stop();
    assert!(status.success());
    let said = |part: &str| log.iter().filter(|line| line.contains(part)).count();
    assert_eq!(said("the store counts as down"), 1, "{log:#?}");
    assert_eq!(said("the store answers again"), 1, "{log:#?}");
}

/// The answers of the kinds of queries, with what each says of the sensors before
/// and during an outage.
async fn ask_all(hourglass: &Hourglass) -> Vec<(&'static str, Value)> {
    const HOURS: &str = "from=2026-05-01T10:00:00Z&to=2026-05-01T11:00:00Z";
    let paths = [
        (
            "hourly",
            format!("/v1/hourly?sensor=before&sensor=during&{HOURS}"),
        ),
        (
            "latest",
            "/v1/latest?sensor=before&sensor=during".to_owned(),
        ),
        ("before", format!("/v1/sensors/before/readings?{HOURS}")),
        ("during", format!("/v1/sensors/during/readings?{HOURS}")),
        ("sensors", "/v1/sensors".to_owned()),
        ("page", "/v1/sensors/during".to_owned()),
    ];
    let mut answers = Vec::new();
    for (kind, path) in paths {
        let (status, answer) = hourglass.get(&path).await;
        assert_eq!(status, 200, "{path}: {answer}");
        answers.push((kind, answer));
    }
    answers
}

fn assert_answers(answers: &[(&str, Value)], complete: bool, before: u64, during: u64) {
    for (kind, answer) in answers {
        assert_eq!(answer["complete"], complete, "{kind}: {answer}");
        let reason = match complete {
            true => Value::Null,
            false => json!("store_unavailable"),
        };
        assert_eq!(answer["incompleteReason"], reason, "{kind}: {answer}");
        let of = |sensor: usize| &answer["sensors"][sensor];
        let len = |list: &Value| list.as_array().unwrap().len() as u64;
        let (told, expected) = match *kind {
            "hourly" => {
                let count = |sensor| of(sensor)["hours"][0]["count"].as_u64().unwrap_or(0);
                ([count(0), count(1)], [before, during])
            }
            "latest" => {
                let has = |sensor: usize| u64::from(!of(sensor)["latest"].is_null());
                ([has(0), has(1)], [before.min(1), during.min(1)])
            }
            "before" => ([len(&answer["readings"]), 0], [before, 0]),
            "during" => ([len(&answer["readings"]), 0], [during, 0]),
            "page" => ([len(&answer["recent"]), 0], [during.min(20), 0]),
            // The buffer knows whom it heard of.
            _ => ([len(&answer["sensors"]), 0], [before.min(1) + 1, 0]),
        };
        assert_eq!(told, expected, "{kind}: {answer}");
    }
}

#[tokio::test]
async fn queries_of_a_frozen_store_are_answered_from_the_buffer_and_whole_once_it_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let mut mongod = Mongod::new();
    mongod.start().await;
    let start = Start::on(dir.path())
        .store(&mongod.uri_of("away"))
        .set("QUERY__STORE_TIMEOUT", "500ms");
    let hourglass = start.start();
    post(&hourglass, "before", 0..100).await;
    assert!(hourglass.stop().0.success());
    // What it stored the process before had in memory; this one has nothing.
    let hourglass = start.start();
    until(|| async { count(&hourglass, "before").await == 100 }).await;

    mongod.freeze();
    post(&hourglass, "during", 0..60).await;
    // Before the silence is noticed, and afterwards.
    assert_answers(&ask_all(&hourglass).await, false, 0, 60);
    until_store_is(&hourglass, "down").await;
    assert_answers(&ask_all(&hourglass).await, false, 0, 60);
    for path in ["/v1/sites", "/v1/sites/plant", "/v1/sensors/nobody"] {
        let (status, answer) = hourglass.get(path).await;
        assert_eq!(
            (status, &answer["code"]),
            (503, &json!("store_unavailable")),
            "{path}"
        );
    }

    mongod.thaw();
    until_store_is(&hourglass, "up").await;
    until(|| async { hourly(&hourglass, "before").await["complete"] == true }).await;
    until_stored(&hourglass).await;
    assert_answers(&ask_all(&hourglass).await, true, 100, 60);
    assert!(hourglass.stop().0.success());
}
