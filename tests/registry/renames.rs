//! Renaming a site: its copies in sensors, also over a kill in the middle.

use std::fmt::Write;

use reqwest::Method;
use serde_json::{Value, json};

use super::builders::{change, patch, put};
use crate::support::eventually::eventually;
use crate::support::hourglass::Hourglass;
use crate::support::site::each_store;

async fn fill(hourglass: &Hourglass, sensors: usize) {
    put(
        hourglass,
        "/v1/sites/plant",
        &json!({ "name": "Old", "city": "Bern" }),
    )
    .await;
    put(hourglass, "/v1/sites/other", &json!({ "name": "Other" })).await;
    let mut table = String::from("sensorId,site\n");
    for n in 0..sensors {
        let site = if n % 10 == 9 { "other" } else { "plant" };
        writeln!(table, "S{n:05},{site}").unwrap();
    }
    let csv = [("content-type", "text/csv")];
    let answer = change(hourglass, Method::PUT, "/v1/sensors", &csv, table).await;
    assert_eq!(answer.body["created"], sensors);
}

/// Names of the sites in all sensors' copies, with how often each stands there.
async fn names(hourglass: &Hourglass, sensors: usize) -> Value {
    let (_, page) = hourglass.get("/v1/sensors?limit=10000").await;
    let listed = page["sensors"].as_array().unwrap();
    assert_eq!(listed.len(), sensors);
    let mut counted = serde_json::Map::new();
    for sensor in listed {
        let name = sensor["site"]["name"].as_str().unwrap().to_owned();
        let count = counted.get(&name).and_then(Value::as_u64).unwrap_or(0);
        counted.insert(name, (count + 1).into());
    }
    counted.into()
}

#[tokio::test]
async fn a_renamed_site_is_renamed_in_its_sensors_and_in_no_other() {
    for site in each_store().await {
        let hourglass = site.start().set("REGISTRY__COPIES_BATCH", "7").start();
        fill(&hourglass, 100).await;
        let renamed = patch(&hourglass, "/v1/sites/plant", &json!({ "name": "New" })).await;
        assert_eq!(renamed.status, 200);
        assert_eq!(renamed.body["copies"], json!({ "state": "current" }));
        assert_eq!(
            names(&hourglass, 100).await,
            json!({ "New": 90, "Other": 10 })
        );
        // What is not copied rewrites nothing.
        let noted = patch(&hourglass, "/v1/sites/plant", &json!({ "notes": "x" })).await;
        assert_eq!((noted.status, &noted.body["city"]), (200, &json!("Bern")));
        let (_, page) = hourglass.get("/v1/sites?limit=1").await;
        assert_eq!(page["next"], "other");
        let (_, page) = hourglass.get("/v1/sites?limit=1&cursor=other").await;
        assert_eq!(
            (&page["next"], &page["sites"][0]["siteId"]),
            (&Value::Null, &json!("plant"))
        );
    }
}

#[tokio::test]
async fn a_kill_in_the_middle_of_a_rename_is_made_good_by_the_next_start() {
    for site in each_store().await {
        let start = site.start().set("REGISTRY__COPIES_BATCH", "1");
        let hourglass = start.start();
        let sensors = 3000;
        fill(&hourglass, sensors).await;
        let url = hourglass.url("/v1/sites/plant");
        let renaming = tokio::spawn({
            let request = hourglass.http().put(url).json(&json!({ "name": "New" }));
            async move { request.send().await.is_ok() }
        });
        eventually("some copies are rewritten", async || {
            let (_, site) = hourglass.get("/v1/sites/plant").await;
            site["copies"]["done"].as_u64().filter(|done| *done > 0)
        })
        .await;
        hourglass.kill_9();
        assert!(!renaming.await.unwrap(), "it was not answered");

        let hourglass = site.start().start();
        eventually("all copies are rewritten", async || {
            let (_, site) = hourglass.get("/v1/sites/plant").await;
            (site["copies"] == json!({ "state": "current" })).then_some(())
        })
        .await;
        assert_eq!(
            names(&hourglass, sensors).await,
            json!({ "New": 2700, "Other": 300 })
        );
        hourglass.stop();
        site.start().verify();
    }
}
