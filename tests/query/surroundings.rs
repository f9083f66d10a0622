//! What browsers, probes and proxies ask beside readings: HEAD, OPTIONS, CORS,
//! `/livez`, `/readyz`.

use reqwest::{Method, Response};
use serde_json::json;

use super::answers::{at, post};
use crate::support::hourglass::Hourglass;
use crate::support::site::Site;

async fn ask(hourglass: &Hourglass, method: Method, path: &str, origin: &str) -> Response {
    let request = hourglass.http().request(method, hourglass.url(path));
    let request = request
        .header("origin", origin)
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "content-type");
    request.send().await.unwrap()
}

fn header<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
    response
        .headers()
        .get(name)
        .map(|value| value.to_str().unwrap())
}

#[tokio::test]
async fn head_answers_as_get_does_without_the_body() {
    let site = Site::embedded().await;
    let hourglass = site.start().start();
    post(
        &hourglass,
        &json!({ "sensorId": "S1", "ts": at(0), "temp": 1 }),
    )
    .await;
    for path in [
        "/v1/sensors",
        "/v1/sensors/S1/readings",
        "/v1/sensors/S1/readings?format=csv",
        "/v1/sensors/S1/hourly",
        "/v1/sensors/S1/latest",
        "/v1/latest?sensor=S1",
        "/v1/conflicts",
        "/v1/sensors/S1/conflicts",
        "/livez",
        "/readyz",
        "/v1/latest",
        "/nothing",
    ] {
        let url = hourglass.url(path);
        let get = hourglass.http().get(&url).send().await.unwrap();
        let head = hourglass.http().head(&url).send().await.unwrap();
        assert_eq!(head.status(), get.status(), "{path}");
        for name in ["content-type", "hourglass-complete"] {
            assert_eq!(header(&head, name), header(&get, name), "{path}");
        }
        assert_ne!(get.bytes().await.unwrap().len(), 0, "{path}");
        assert_eq!(head.bytes().await.unwrap().len(), 0, "{path}");
    }
}

#[tokio::test]
async fn probes_are_answered() {
    let site = Site::embedded().await;
    let hourglass = site.start().start();
    assert_eq!(hourglass.get_text("/livez").await, (200, "ok\n".to_owned()));
    let (status, mut told) = hourglass.get("/readyz").await;
    // One header of a segment.
    assert!(told["journalBytes"].as_u64().is_some_and(|bytes| bytes > 0));
    told.as_object_mut().unwrap().remove("journalBytes");
    let ready = json!({
        "ready": true, "journal": "writing", "journalBytesMax": 4_u64 << 30,
        "journalGrowth": 0.0, "journalFullIn": null, "lagRecords": 0, "lagBytes": 0,
        "oldestUnflushedSeconds": 0.0, "store": "up", "storeDownSince": null, "complete": true,
    });
    assert_eq!((status, told), (200, ready));
    // Monitoring systems add parameters of their own.
    for path in ["/livez?probe=1", "/readyz?verbose", "/metrics?module=x"] {
        assert_eq!(hourglass.get_text(path).await.0, 200, "{path}");
    }
}

#[tokio::test]
async fn pages_of_a_configured_origin_may_read_answers_and_errors() {
    let site = Site::embedded().await;
    let origin = "https://dash.example:3000";
    let hourglass = site.start().set("SERVER__CORS_ORIGINS", origin).start();
    let asked = ask(&hourglass, Method::OPTIONS, "/v1/readings", origin).await;
    assert_eq!(asked.status(), 200);
    assert_eq!(header(&asked, "access-control-allow-origin"), Some(origin));
    let methods = header(&asked, "access-control-allow-methods").unwrap();
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
        assert!(methods.contains(method), "{method}");
    }
    let headers = header(&asked, "access-control-allow-headers").unwrap();
    for name in ["content-type", "if-match", "if-none-match"] {
        assert!(headers.contains(name), "{name}");
    }
    for path in ["/v1/sensors", "/v1/latest", "/nothing"] {
        let answer = ask(&hourglass, Method::GET, path, origin).await;
        assert_eq!(header(&answer, "access-control-allow-origin"), Some(origin));
        let exposed = header(&answer, "access-control-expose-headers").unwrap();
        for name in ["retry-after", "etag", "hourglass-complete"] {
            assert!(exposed.contains(name), "{name}");
        }
        let other = ask(&hourglass, Method::GET, path, "https://evil.example").await;
        assert_eq!(
            header(&other, "access-control-allow-origin"),
            None,
            "{path}"
        );
    }
}

#[tokio::test]
async fn any_origin_may_where_all_are_configured_and_none_where_none_is() {
    let site = Site::embedded().await;
    let hourglass = site.start().set("SERVER__CORS_ORIGINS", "*").start();
    let answer = ask(
        &hourglass,
        Method::GET,
        "/v1/sensors",
        "https://any.example",
    )
    .await;
    assert_eq!(header(&answer, "access-control-allow-origin"), Some("*"));

    let site = Site::embedded().await;
    let hourglass = site.start().start();
    let answer = ask(
        &hourglass,
        Method::GET,
        "/v1/sensors",
        "https://any.example",
    )
    .await;
    assert_eq!(answer.status(), 200);
    assert_eq!(header(&answer, "access-control-allow-origin"), None);
    let answer = ask(
        &hourglass,
        Method::OPTIONS,
        "/v1/readings",
        "https://any.example",
    )
    .await;
    assert_eq!(
        (answer.status().as_u16(), header(&answer, "allow")),
        (405, Some("POST"))
    );
}
