//! C03 over line protocol: readings that share a sensor and an instant and came
//! under other tags are told apart by no one but those tags. None is swallowed
//! in silence, and the answer names the setting that keeps both.

use serde_json::{Value, json};

use super::builders::{on_each_store, readings, until_ready};
use crate::support::hourglass::{Hourglass, Start};

/// A minute ahead: what is in the hour that is being filled stays in memory.
fn soon() -> i64 {
    jiff::Timestamp::now().as_second() + 60
}

async fn post(hourglass: &Hourglass, lines: &[String]) {
    let body = lines.join("\n");
    let (status, answer) = hourglass.post_as("text/plain", body).await;
    assert_eq!(
        (status, &answer["accepted"]),
        (202, &json!(lines.len())),
        "{answer}"
    );
}

async fn conflicts(hourglass: &Hourglass) -> Vec<Value> {
    let (status, answer) = hourglass.get("/v1/conflicts").await;
    assert_eq!(status, 200);
    answer["conflicts"].as_array().unwrap().clone()
}

async fn counted(hourglass: &Hourglass) -> [f64; 2] {
    [
        hourglass.metric("hourglass_values_conflict_total").await,
        hourglass
            .metric("hourglass_values_conflict_other_origin_total")
            .await,
    ]
}

/// Flushes for no other reason than that the hour is over.
fn patient(start: &Start) -> Start {
    start.clone().set("FLUSH__AGE_MAX", "1h")
}

#[tokio::test]
async fn c03_a_value_under_another_tag_is_shown_with_both_tag_sets_and_the_setting() {
    on_each_store(async |start| {
        let (start, at) = (patient(&start), soon());
        let hourglass = start.start();
        let line = |core: u32, value: f64| {
            format!("cpu,device=d1,core={core},host=h usage={value} {at}")
        };
        // The same under other tags is a duplicate, and no conflict.
        post(&hourglass, &[line(0, 1.5), line(1, 1.5)]).await;
        assert_eq!(conflicts(&hourglass).await, [Value::Null; 0]);
        post(&hourglass, &[line(1, 2.5)]).await;
        let memory = format!("mem,device=d1,core=0,host=h usage=3.5 {at}");
        post(&hourglass, &[memory]).await;
        post(&hourglass, &[line(0, 4.5)]).await;

        let told = conflicts(&hourglass).await;
        let origin = |measurement: &str, core: &str| {
            json!({ "measurement": measurement, "tags": { "core": core, "host": "h" } })
        };
        let under = |newest: usize| {
            let conflict = &told[newest];
            assert_eq!((&conflict["sensorId"], &conflict["kept"]), (&json!("d1"), &json!(1.5)));
            assert_eq!(conflict["keptFrom"], origin("cpu", "0"));
            (conflict["refused"].as_f64().unwrap(), conflict["refusedFrom"].clone())
        };
        assert_eq!(under(0), (4.5, origin("cpu", "0")));
        assert_eq!(told[0].get("hint"), None, "the tags are the same");
        assert_eq!(under(1), (3.5, origin("mem", "0")));
        assert_eq!(
            told[1]["hint"],
            "the measurement differs; line_protocol.measurement_prefix = true keeps both"
        );
        assert_eq!(under(2), (2.5, origin("cpu", "1")));
        assert_eq!(
            told[2]["hint"],
            "the tag `core` differs and looks like a dimension; \
             line_protocol.dimension_tags = [\"core\"] keeps both"
        );
        assert_eq!(told.len(), 3);
        assert_eq!(counted(&hourglass).await, [3.0, 2.0]);
        let line = hourglass.wait_for_log("values are refused that came under other tags");
        assert!(line.contains("dimension_tags") && line.contains("d1"), "{line}");
        let lines = hourglass.log();
        let warnings = lines.iter().filter(|line| line.contains("under other tags"));
        assert_eq!(warnings.count(), 1, "once a minute");

        // The journal decides who was first, again.
        hourglass.kill_9();
        let hourglass = start.start();
        until_ready(&hourglass).await;
        assert_eq!(conflicts(&hourglass).await, told);
        assert_eq!(counted(&hourglass).await, [3.0, 2.0]);
        let stored = readings(&hourglass, "d1").await;
        assert_eq!(stored.len(), 1);
        assert_eq!(stored[0]["measures"], json!({ "usage": 1.5 }));
    })
    .await;
}

#[tokio::test]
async fn c03_with_the_tag_as_a_dimension_both_are_kept() {
    on_each_store(async |start| {
        let at = soon();
        let hourglass = start.set("LINE_PROTOCOL__DIMENSION_TAGS", "core").start();
        for core in 0..2 {
            let value = f64::from(core) + 0.5;
            post(
                &hourglass,
                &[format!("cpu,device=d1,core={core} usage={value} {at}")],
            )
            .await;
        }
        for (sensor, usage) in [("d1,core=0", 0.5), ("d1,core=1", 1.5)] {
            let stored = readings(&hourglass, sensor).await;
            assert_eq!(stored[0]["measures"], json!({ "usage": usage }));
        }
        assert_eq!(conflicts(&hourglass).await, [Value::Null; 0]);
        assert_eq!(counted(&hourglass).await, [0.0, 0.0]);
    })
    .await;
}

#[tokio::test]
async fn c03_with_the_measurement_as_prefix_both_are_kept() {
    on_each_store(async |start| {
        let at = soon();
        let hourglass = start
            .set("LINE_PROTOCOL__MEASUREMENT_PREFIX", "true")
            .start();
        for (measurement, value) in [("cpu", 1.5), ("mem", 2.5)] {
            post(
                &hourglass,
                &[format!("{measurement},device=d1 used={value} {at}")],
            )
            .await;
        }
        let stored = readings(&hourglass, "d1").await;
        assert_eq!(stored.len(), 1);
        assert_eq!(
            stored[0]["measures"],
            json!({ "cpu_used": 1.5, "mem_used": 2.5 })
        );
        assert_eq!(conflicts(&hourglass).await, [Value::Null; 0]);
        assert_eq!(counted(&hourglass).await, [0.0, 0.0]);
    })
    .await;
}
