//! `If-Match`, `If-None-Match`, media types.

use reqwest::Method;
use serde_json::json;

use super::builders::{change, put};
use crate::support::site::each_store;

#[tokio::test]
async fn a_change_of_another_version_is_refused() {
    for site in each_store().await {
        let hourglass = site.start().start();
        for path in ["/v1/sensors/S1", "/v1/sites/S1"] {
            let send = async |headers: &[(&str, &str)]| {
                let json = [("content-type", "application/json")];
                let headers = [&json, headers].concat();
                change(
                    &hourglass,
                    Method::PUT,
                    path,
                    &headers,
                    "{\"name\":\"x\"}".to_owned(),
                )
                .await
            };
            let none = send(&[("if-match", "*")]).await;
            assert_eq!((none.status, none.code()), (412, "precondition_failed"));
            let first = send(&[("if-none-match", "*")]).await;
            assert_eq!(first.status, 201);
            let tag = first.etag.unwrap();
            assert_eq!(send(&[("if-none-match", "*")]).await.status, 412);
            let second = send(&[("if-match", &tag)]).await;
            assert_eq!(second.status, 200);
            let stale = send(&[("if-match", &tag)]).await;
            assert_eq!(stale.status, 412);
            let now = second.etag.unwrap();
            assert!(stale.body["detail"].as_str().unwrap().contains(&now));
            let list = format!("\"x\", {now}");
            assert_eq!(send(&[("if-match", &list)]).await.status, 200);
        }
    }
}

#[tokio::test]
async fn a_patch_and_a_whole_record_are_told_apart_by_their_type() {
    let (_dir, hourglass) = crate::support::hourglass::alone();
    put(&hourglass, "/v1/sensors/S1", &json!({})).await;
    for (method, media) in [
        (Method::PUT, "application/merge-patch+json"),
        (Method::PATCH, "application/json"),
        (Method::PUT, "text/csv"),
    ] {
        let headers = [("content-type", media)];
        let answer = change(&hourglass, method, "/v1/sensors/S1", &headers, "{}".into()).await;
        assert_eq!(
            (answer.status, answer.code()),
            (415, "unsupported_media_type")
        );
    }
    let headers = [("content-type", "application/json; charset=utf-8")];
    let answer = change(
        &hourglass,
        Method::PUT,
        "/v1/sensors/S1",
        &headers,
        "{".into(),
    )
    .await;
    assert_eq!((answer.status, answer.code()), (400, "invalid_json"));
}
