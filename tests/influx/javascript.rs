//! InfluxDB's own client for JavaScript, unchanged, on Node.js.

use serde_json::{Value, json};
use tempfile::TempDir;

use super::builders::{assert_balanced, reading, readings, started, values};
use super::outages::busy;
use crate::support::hourglass::Hourglass;
use crate::support::node::node;
use crate::support::script::Script;

const AT_TEN: &str = "2026-05-01T10:00:00Z";

/// Where the client's version is pinned.
pub(super) const FOLDER: &str = "tests/influx/javascript";

fn client(hourglass: &Hourglass, what: &str, prefix: &str) -> Script {
    let script = format!("{}/{FOLDER}/client.cjs", env!("CARGO_MANIFEST_DIR"));
    Script::start(node(FOLDER).args([&script, &hourglass.url(""), what, prefix]))
}

fn last(lines: &[String]) -> Value {
    serde_json::from_str(lines.last().unwrap()).unwrap()
}

#[tokio::test]
async fn the_client_writes_points_of_every_kind_and_precision() {
    let (_dir, hourglass) = started();
    for what in ["values", "gzip"] {
        assert!(client(&hourglass, what, what).end().is_empty());
        for kind in ["ns", "us", "ms", "s", "date"] {
            assert_eq!(
                readings(&hourglass, &format!("{what}-{kind}")).await,
                [reading(AT_TEN, json!({ "temp": 24.25 }))],
                "{kind}"
            );
        }
        assert_eq!(
            readings(&hourglass, &format!("{what}-fields")).await,
            [reading(
                AT_TEN,
                json!({ "temp": 24.25, "n": 5.0, "u": 7.0, "on": 1.0 })
            )]
        );
        let untimed = values(&hourglass, &format!("{what}-untimed")).await;
        assert_eq!(untimed, [json!({ "temp": 24.25 })]);
    }
    let told = last(&client(&hourglass, "batches", "b").end());
    assert_eq!(told, json!([100, 300, 300, 300]));
    let (_, answer) = hourglass.get("/v1/sensors/b-batched/hourly").await;
    assert_eq!(answer["hours"][0]["count"], 1000);
    assert_balanced(&hourglass).await;
}

#[tokio::test]
async fn the_client_sees_what_was_refused() {
    let (_dir, hourglass) = started();
    let told = last(&client(&hourglass, "fault", "f").end());
    assert_eq!(told[0], true, "{told}");
    assert_eq!((&told[1], &told[2]), (&json!(400), &json!("invalid")));
    let message = told[3].as_str().unwrap();
    assert!(
        message.starts_with("partial write: 1 of 2 lines"),
        "{message}"
    );
    assert_eq!(
        values(&hourglass, "f-part").await,
        [json!({ "temp": 24.25 })]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_client_raises_or_tries_again_after_503() {
    let dir = TempDir::new().unwrap();
    let (hourglass, held) = busy(&dir).await;
    let mut script = client(&hourglass, "unavailable", "u");
    script.expect_json(&json!([503, "unavailable", true, true]));
    script.expect_line("again 503");
    drop(held);
    assert_eq!(script.end().last().unwrap(), "written");
    assert_eq!(
        readings(&hourglass, "u-again").await,
        [reading(AT_TEN, json!({ "temp": 24.25 }))]
    );
}
