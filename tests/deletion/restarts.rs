//! Deletions over kills and outages: what was deleted never comes back.

use serde_json::json;

use super::readings::{counts, post_hours, recent, stored};
use crate::support::eventually::eventually;
use crate::support::hourglass::Start;
use crate::support::mongod::Mongod;
use crate::support::site::each_store;

#[tokio::test]
async fn a_kill_at_any_moment_of_a_deletion_leaves_none_of_it() {
    for site in each_store().await {
        let mut hourglass = site.start().start();
        for sensor in ["S1", "S2", "S3", "S4"] {
            post_hours(&hourglass, sensor, 12).await;
        }
        stored(&hourglass).await;
        for (sensor, pause) in [("S1", 0), ("S2", 3), ("S3", 10), ("S4", 30)] {
            let url = hourglass.url(&format!(
                "/v1/sensors/{sensor}/readings?from=2026-05-01T10:30:00Z&to=2026-05-02T00:00:00Z"
            ));
            // One that this start found counts as done too, and twice until the
            // journal says so.
            eventually("the one before is wholly done", async || {
                let open = hourglass.metric("hourglass_deletions_open").await;
                (open == 0.0).then_some(())
            })
            .await;
            let noted = async || {
                let open = hourglass.metric("hourglass_deletions_open").await;
                open + hourglass.metric("hourglass_deletions_total").await
            };
            let before = noted().await;
            let request = hourglass.http().delete(url);
            let asked = tokio::spawn(async move { request.send().await.map(|r| r.status()) });
            // It is durable once it counts as open or as done.
            eventually("the deletion is noted", async || {
                (noted().await > before).then_some(())
            })
            .await;
            for _ in 0..pause {
                tokio::task::yield_now().await;
            }
            hourglass.kill_9();
            drop(asked.await);
            hourglass = site.start().start();
            eventually("it is done", async || {
                (counts(&hourglass, sensor).await == [30]).then_some(())
            })
            .await;
            eventually("its record says so", async || {
                (recent(&hourglass, sensor).await.first() == Some(&29)).then_some(())
            })
            .await;
        }
        hourglass.kill_9();
        let hourglass = site.start().start();
        stored(&hourglass).await;
        for sensor in ["S1", "S2", "S3", "S4"] {
            assert_eq!(counts(&hourglass, sensor).await, [30]);
        }
        hourglass.stop();
        site.start().verify();
    }
}

#[tokio::test]
async fn while_the_store_is_away_it_is_durable_and_done_later() {
    let mut mongod = Mongod::new();
    mongod.start().await;
    let dir = tempfile::tempdir().unwrap();
    let start = Start::on(dir.path()).store(&mongod.uri_of("deletion"));
    let hourglass = start.start();
    post_hours(&hourglass, "S1", 2).await;
    stored(&hourglass).await;
    mongod.kill();
    let url = "/v1/sensors/S1/readings?from=2026-05-01T10:00:00Z&to=2026-05-01T10:30:00Z";
    let request = hourglass.http().delete(hourglass.url(url));
    let asked = tokio::spawn(async move { request.send().await });
    eventually("the deletion is noted", async || {
        (hourglass.metric("hourglass_deletions_open").await == 1.0).then_some(())
    })
    .await;
    // Other sensors and later readings are taken all the same.
    post_hours(&hourglass, "S2", 1).await;
    let later = json!([{ "sensorId": "S1", "ts": "2026-05-01T10:15:00Z", "temp": 77 }]);
    assert_eq!(hourglass.post(&later).await.0, 202);
    hourglass.kill_9();
    drop(asked.await);
    mongod.start().await;
    let hourglass = start.start();
    eventually("it is done, and what came later is there", async || {
        let open = hourglass.metric("hourglass_deletions_open").await;
        (open == 0.0 && counts(&hourglass, "S1").await == [31, 60]).then_some(())
    })
    .await;
    assert_eq!(counts(&hourglass, "S2").await, [60]);
}
