//! Changes at the same moment.

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use super::builders::{change, patch, put};
use crate::support::eventually::eventually;
use crate::support::site::each_store;

#[tokio::test]
async fn of_patches_at_the_same_moment_none_is_lost() {
    for site in each_store().await {
        let hourglass = site.start().start();
        for path in ["/v1/sensors/S1", "/v1/sites/S1"] {
            put(&hourglass, path, &json!({})).await;
        }
        // Each is made again when another one was there: ten at most.
        let changes: Vec<Value> = (0..10)
            .map(|n| json!({ "attributes": { format!("k{n}"): n.to_string() } }))
            .collect();
        let patches = changes
            .iter()
            .map(|change| patch(&hourglass, "/v1/sensors/S1", change));
        for answer in join_all(patches).await {
            assert_eq!(answer.status, 200, "{answer:?}");
        }
        let (_, page) = hourglass.get("/v1/sensors/S1").await;
        assert_eq!(page["attributes"].as_object().unwrap().len(), 10, "{page}");

        let changes = [
            json!({ "city": "Bern" }),
            json!({ "notes": "x" }),
            json!({ "timeZone": "Europe/Zurich" }),
            json!({ "retention": "400d" }),
        ];
        let patches = changes
            .iter()
            .map(|change| patch(&hourglass, "/v1/sites/S1", change));
        for answer in join_all(patches).await {
            assert_eq!(answer.status, 200, "{answer:?}");
        }
        let (_, page) = hourglass.get("/v1/sites/S1").await;
        for change in changes {
            for (member, value) in change.as_object().unwrap() {
                assert_eq!(&page[member], value, "{page}");
            }
        }
    }
}

/// Of two who read the same version, the second is told.
#[tokio::test]
async fn of_two_edits_of_one_version_one_is_refused() {
    for site in each_store().await {
        let hourglass = site.start().start();
        let tag = put(&hourglass, "/v1/sites/S1", &json!({}))
            .await
            .etag
            .unwrap();
        let headers = [("content-type", "application/json"), ("if-match", &tag)];
        let edits = ["a", "b"].map(|name| {
            let body = json!({ "name": name }).to_string();
            change(&hourglass, Method::PUT, "/v1/sites/S1", &headers, body)
        });
        let mut answers = join_all(edits).await;
        answers.sort_by_key(|answer| answer.status);
        assert_eq!(
            answers.iter().map(|a| a.status).collect::<Vec<_>>(),
            [200, 412]
        );
        let (_, page) = hourglass.get("/v1/sites/S1").await;
        assert_eq!(page["name"], answers[0].body["name"]);
    }
}

/// Sensors are put at a site while it is renamed again and again.
#[tokio::test]
async fn a_sensor_put_in_the_middle_of_a_rename_has_the_new_name_in_the_end() {
    for site in each_store().await {
        let hourglass = site.start().set("REGISTRY__COPIES_BATCH", "3").start();
        put(&hourglass, "/v1/sites/plant", &json!({ "name": "name 0" })).await;
        let renames = async {
            for n in 1..=8 {
                let named = json!({ "name": format!("name {n}") });
                let answer = patch(&hourglass, "/v1/sites/plant", &named).await;
                assert!([200, 202].contains(&answer.status), "{answer:?}");
            }
        };
        let puts = async {
            for round in 0..8 {
                let at = json!({ "site": "plant" });
                let paths: Vec<String> = (0..6)
                    .map(|n| format!("/v1/sensors/S{round}-{n}"))
                    .collect();
                let puts = paths.iter().map(|path| put(&hourglass, path, &at));
                for answer in join_all(puts).await {
                    assert_eq!(answer.status, 201, "{answer:?}");
                }
                let lines: String = (0..6)
                    .map(|n| format!("{{\"sensorId\":\"L{round}-{n}\",\"site\":\"plant\"}}\n"))
                    .collect();
                let headers = [("content-type", "application/x-ndjson")];
                let answer = change(&hourglass, Method::PUT, "/v1/sensors", &headers, lines).await;
                assert_eq!(answer.status, 200, "{answer:?}");
            }
        };
        tokio::join!(renames, puts);
        eventually("the copies are current", async || {
            let (_, plant) = hourglass.get("/v1/sites/plant").await;
            (plant["copies"]["state"] == "current").then_some(())
        })
        .await;
        let (_, page) = hourglass.get("/v1/sensors").await;
        let sensors = page["sensors"].as_array().unwrap();
        assert_eq!(sensors.len(), 96);
        for sensor in sensors {
            assert_eq!(sensor["site"]["name"], "name 8", "{sensor}");
        }
    }
}
