//! `kill -9` while passes run: the next start finishes them.

use serde_json::{Value, json};

use super::builders::{hours_ago, items, post, until_metric, until_stored};
use crate::support::site::Site;

const SENSORS: usize = 400;
const KILLS: usize = 4;

async fn a_killed_pass_is_finished(site: Site) {
    let server = site.start().start();
    let oldest_kept = hours_ago(70).to_string();
    for sensors in (0..SENSORS).collect::<Vec<_>>().chunks(100) {
        let all = sensors.iter().flat_map(|number| {
            let items = items(&format!("S{number}"), &[90, 70, 40, 39, 38, 3]);
            items.as_array().unwrap().clone()
        });
        post(&server, &all.collect::<Value>()).await;
    }
    until_stored(&server).await;
    assert!(server.stop().0.success());

    let start = site.start().set("RETENTION__HOURS", "80h");
    let start = start.set("RETENTION__READINGS", "20h");
    for kill in 0..KILLS {
        let server = start.start();
        // Each a little further on: requests are what there is to wait by.
        for _ in 0..kill * 3 {
            assert_eq!(server.get("/livez").await.0, 200);
        }
        server.kill_9();
    }
    let server = start.start();
    until_metric(
        &server,
        "hourglass_retention_passes_total{outcome=\"complete\"}",
        1.0,
    )
    .await;
    let (_, due) = server.get("/v1/retention").await;
    assert_eq!(due["hours"]["buckets"], json!(0), "{due}");
    assert_eq!(due["readings"]["buckets"], json!(0), "{due}");
    assert_eq!(due["sensorsLookedAt"], json!(SENSORS));
    for number in (0..SENSORS).step_by(13) {
        let path = format!("/v1/sensors/S{number}/readings");
        let (_, raw) = server.get(&path).await;
        assert_eq!(
            raw["readings"].as_array().unwrap().len(),
            1,
            "{path}: {raw}"
        );
        let (_, hourly) = server.get(&format!("/v1/sensors/S{number}/hourly")).await;
        let hours = hourly["hours"].as_array().unwrap();
        assert_eq!(hours.len(), 5, "{hourly}");
        assert_eq!(hours[0]["hour"], json!(oldest_kept));
        assert!(hours.iter().all(|hour| hour["count"] == json!(1)));
    }
    assert!(server.stop().0.success());
    start.verify();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_pass_is_finished_embedded() {
    a_killed_pass_is_finished(Site::embedded().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_pass_is_finished_mongodb() {
    a_killed_pass_is_finished(Site::mongodb().await).await;
}
