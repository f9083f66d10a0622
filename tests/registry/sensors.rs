//! One sensor: put, patched, and the tags that it sends beside it.

use serde_json::json;

use super::builders::{patch, put};
use crate::support::eventually::eventually;
use crate::support::hourglass::Hourglass;
use crate::support::site::each_store;

#[tokio::test]
async fn what_is_put_is_there_and_replaces_what_was() {
    for site in each_store().await {
        let hourglass = site.start().start();
        let plant = json!({ "name": "Plant", "city": "Bern" });
        let made = put(&hourglass, "/v1/sites/plant", &plant).await;
        assert_eq!(made.status, 201);
        let body = json!({
            "name": "Boiler", "model": "SHT31", "units": { "temp": "°C", "a.b": "%" },
            "site": "plant", "attributes": { "room": "4b" }, "retention": "400d",
        });
        let first = put(&hourglass, "/v1/sensors/a%2Fb", &body).await;
        assert_eq!(first.status, 201, "{first:?}");
        assert_eq!(first.body["sensorId"], "a/b");
        assert_eq!(first.location.as_deref(), Some("/v1/sensors/a%2Fb"));
        let shown = json!({ "id": "plant", "name": "Plant", "city": "Bern" });
        assert_eq!(first.body["site"], shown);
        let again = put(&hourglass, "/v1/sensors/a%2Fb", &json!({ "name": "Pump" })).await;
        assert_eq!((again.status, &again.location), (200, &None));
        assert_eq!(
            again.body,
            json!({ "sensorId": "a/b", "name": "Pump", "attributes": {} })
        );
        assert_ne!(first.etag, again.etag);
    }
}

#[tokio::test]
async fn a_patch_changes_what_it_names_and_no_more() {
    for site in each_store().await {
        let hourglass = site.start().start();
        let unknown = patch(&hourglass, "/v1/sensors/S1", &json!({ "name": "x" })).await;
        assert_eq!((unknown.status, unknown.code()), (404, "unknown_sensor"));
        let body = json!({ "name": "a", "model": "m", "attributes": { "x": "1", "y": "2" } });
        put(&hourglass, "/v1/sensors/S1", &body).await;
        let change = json!({ "name": "b", "model": null, "attributes": { "x": null, "z": "3" } });
        let patched = patch(&hourglass, "/v1/sensors/S1", &change).await;
        assert_eq!(patched.status, 200);
        assert_eq!(
            patched.body,
            json!({ "sensorId": "S1", "name": "b", "attributes": { "y": "2", "z": "3" } })
        );
    }
}

async fn listed(hourglass: &Hourglass) -> serde_json::Value {
    let (_, page) = hourglass.get("/v1/sensors").await;
    page["sensors"][0]["attributes"].clone()
}

#[tokio::test]
async fn tags_come_beside_what_people_set_and_do_not_replace_it() {
    for site in each_store().await {
        let hourglass = site.start().set("FLUSH__AGE_MAX", "100ms").start();
        let body = json!({ "attributes": { "room": "5", "owner": "ops" } });
        assert_eq!(put(&hourglass, "/v1/sensors/S1", &body).await.status, 201);
        let line = "m,device=S1,room=4b,fw=2.1 temp=1 1777629600000000000";
        let (status, _) = hourglass.post_as("text/plain", line.to_owned()).await;
        assert_eq!(status, 202);
        let both = json!({ "room": "5", "owner": "ops", "fw": "2.1" });
        eventually("the tags come beside", async || {
            (listed(&hourglass).await == both).then_some(())
        })
        .await;
        // What is no longer set by people is the device's again.
        put(&hourglass, "/v1/sensors/S1", &json!({})).await;
        let tags = json!({ "room": "4b", "fw": "2.1" });
        eventually("its tags are told again", async || {
            (listed(&hourglass).await == tags).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn what_cannot_be_is_refused_by_name() {
    let (_dir, hourglass) = crate::support::hourglass::alone();
    for (path, body, status, code, told) in [
        (
            "/v1/sensors/S1",
            json!({ "nmae": 1 }),
            422,
            "invalid_field",
            "`nmae`",
        ),
        (
            "/v1/sensors/S1",
            json!({ "site": "x" }),
            422,
            "unknown_site",
            "PUT /v1/sites/x",
        ),
        ("/v1/sensors/S1", json!([]), 422, "invalid_field", "object"),
        (
            "/v1/sensors/%20",
            json!({}),
            400,
            "invalid_parameter",
            "blank",
        ),
        (
            "/v1/sites/x",
            json!({ "timeZone": "X" }),
            422,
            "invalid_field",
            "IANA",
        ),
        (
            "/v1/sites/..%2F",
            json!({ "position": 1 }),
            422,
            "invalid_field",
            "position",
        ),
        (
            "/v1/sensors/S1?x=1",
            json!({}),
            400,
            "invalid_parameter",
            "`x`",
        ),
    ] {
        let answer = put(&hourglass, path, &body).await;
        assert_eq!(
            (answer.status, answer.code()),
            (status, code),
            "{path} {body}"
        );
        let detail = answer.body["detail"].as_str().unwrap();
        assert!(detail.contains(told), "{detail}");
    }
    let (_, page) = hourglass.get("/v1/sensors").await;
    assert_eq!(page["sensors"], json!([]));
    assert_eq!(hourglass.get("/v1/sites/x").await.0, 404);
}

#[tokio::test]
async fn sensors_that_are_set_up_count_against_the_cap() {
    let dir = tempfile::tempdir().unwrap();
    let start = crate::support::hourglass::Start::on(dir.path());
    let hourglass = start.set("INGEST__SENSORS_MAX", "2").start();
    eventually("the cap holds", async || {
        put(&hourglass, "/v1/sensors/S1", &json!({})).await;
        put(&hourglass, "/v1/sensors/S2", &json!({})).await;
        let third = put(&hourglass, "/v1/sensors/S3", &json!({})).await;
        (third.code() == "too_many_sensors").then_some(())
    })
    .await;
    assert_eq!(
        put(&hourglass, "/v1/sensors/S2", &json!({})).await.status,
        200
    );
}
