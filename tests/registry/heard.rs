//! Sensors that were heard of and are not in the store yet, and tags among the
//! attributes.

use reqwest::Method;
use serde_json::{Value, json};

use super::builders::{change, patch, put};
use crate::support::eventually::eventually;
use crate::support::hourglass::Hourglass;
use crate::support::site::{Site, each_store};

/// A service that flushes nothing by itself: the hour of what is sent is open.
fn holding_back(site: &Site) -> Hourglass {
    site.start().set("FLUSH__AGE_MAX", "24h").start()
}

async fn send(hourglass: &Hourglass, line: &str) {
    let (status, _) = hourglass.post_as("text/plain", line.to_owned()).await;
    assert_eq!(status, 202);
}

async fn attributes(hourglass: &Hourglass) -> Value {
    let (status, page) = hourglass.get("/v1/sensors/S1").await;
    assert_eq!(status, 200);
    page["attributes"].clone()
}

/// Sends what the page of `S1` says with `edit` made to it, under its tag.
async fn edit(hourglass: &Hourglass, edit: impl FnOnce(&mut Value)) {
    let url = hourglass.url("/v1/sensors/S1");
    let response = hourglass.http().get(url).send().await.unwrap();
    let tag = response.headers()["etag"].to_str().unwrap().to_owned();
    let mut page: Value = response.json().await.unwrap();
    edit(&mut page);
    let headers = [("content-type", "application/json"), ("if-match", &tag)];
    let path = "/v1/sensors/S1";
    let answer = change(hourglass, Method::PUT, path, &headers, page.to_string()).await;
    assert!([200, 201].contains(&answer.status), "{answer:?}");
}

#[tokio::test]
async fn a_sensor_that_is_only_in_the_buffer_is_a_known_one() {
    for site in each_store().await {
        let hourglass = holding_back(&site);
        send(&hourglass, "m,device=S1,room=4b temp=1").await;
        let absent = [("content-type", "application/json"), ("if-none-match", "*")];
        let path = "/v1/sensors/S1";
        let refused = change(&hourglass, Method::PUT, path, &absent, "{}".into()).await;
        assert_eq!(
            (refused.status, refused.code()),
            (412, "precondition_failed")
        );
        let patched = patch(&hourglass, path, &json!({ "name": "Boiler" })).await;
        assert_eq!(
            (patched.status, &patched.body["name"]),
            (201, &json!("Boiler"))
        );
        let (_, page) = hourglass.get(path).await;
        assert_eq!(
            (&page["name"], &page["attributes"]),
            (&json!("Boiler"), &json!({ "room": "4b" }))
        );
    }
}

#[tokio::test]
async fn an_answer_that_is_changed_and_sent_back_leaves_tags_to_the_device() {
    for site in each_store().await {
        let hourglass = site.start().set("FLUSH__AGE_MAX", "100ms").start();
        send(&hourglass, "m,device=S1,room=4b,fw=1 temp=1").await;
        edit(&hourglass, |page| page["name"] = json!("Boiler")).await;
        edit(&hourglass, |page| {
            page["attributes"]["owner"] = json!("ops");
        })
        .await;
        edit(&hourglass, |page| page["attributes"]["fw"] = json!("2")).await;
        // The device moves, and still says it has its old firmware.
        send(&hourglass, "m,device=S1,room=5,fw=1 temp=1").await;
        let expected = json!({ "room": "5", "fw": "2", "owner": "ops" });
        eventually("its new room is known", async || {
            (attributes(&hourglass).await == expected).then_some(())
        })
        .await;
        let (_, page) = hourglass.get("/v1/sensors/S1").await;
        assert_eq!(page["attributesSet"], json!(["fw", "owner"]));
        assert_eq!(page["name"], "Boiler");
        // A body that does not come from an answer sets what it says.
        put(
            &hourglass,
            "/v1/sensors/S1",
            &json!({ "attributes": { "room": "5" } }),
        )
        .await;
        send(&hourglass, "m,device=S1,room=6,fw=1 temp=1").await;
        let expected = json!({ "room": "5", "fw": "1" });
        eventually("the room stays as it was set", async || {
            (attributes(&hourglass).await == expected).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn a_tag_that_a_patch_removes_is_gone_until_the_device_sends_it_anew() {
    for site in each_store().await {
        let hourglass = site.start().set("FLUSH__AGE_MAX", "100ms").start();
        send(
            &hourglass,
            "m,device=S1,room=4b,fw=1 temp=1 1777629600000000000",
        )
        .await;
        // Another process has no buffer that knows of it.
        let hourglass = site.restart_from_the_store(hourglass, &site.start());
        assert_eq!(
            attributes(&hourglass).await,
            json!({ "room": "4b", "fw": "1" })
        );
        let change = json!({ "attributes": { "fw": null } });
        assert_eq!(
            patch(&hourglass, "/v1/sensors/S1", &change).await.status,
            201
        );
        assert_eq!(attributes(&hourglass).await, json!({ "room": "4b" }));
    }
}
