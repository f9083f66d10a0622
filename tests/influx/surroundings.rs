//! `/ping`, `/health` and the headers that every answer has.

use serde_json::json;

use super::builders::started;

#[tokio::test]
async fn a_ping_says_that_it_lives_and_whose_interface_it_has() {
    let (_dir, hourglass) = started();
    for (method, path) in [
        ("GET", "/ping"),
        ("HEAD", "/ping"),
        ("GET", "/ping?verbose="),
        ("GET", "/ping?verbose=0&wait_for_leader=1s"),
        ("GET", "/ping?verbose=false"),
    ] {
        let request = hourglass
            .http()
            .request(method.parse().unwrap(), hourglass.url(path));
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 204, "{method} {path}");
        assert_eq!(response.headers()["x-influxdb-version"], "1.8.10");
        assert_eq!(response.text().await.unwrap(), "");
    }
    let (status, version) = hourglass.get("/ping?verbose=true").await;
    assert_eq!((status, version), (200, json!({ "version": "1.8.10" })));
}

#[tokio::test]
async fn health_is_the_form_of_version_2_of_what_readyz_says() {
    let (_dir, hourglass) = started();
    let (status, health) = hourglass.get("/health").await;
    assert_eq!(status, hourglass.get("/readyz").await.0);
    assert_eq!(
        (status, health),
        (
            200,
            json!({
                "name": "hourglass",
                "status": "pass",
                "message": "readings are taken",
                "checks": [
                    { "name": "journal", "status": "pass", "message": "writing" },
                    { "name": "store", "status": "pass", "message": "up" },
                ],
                "version": "1.8.10",
                "commit": concat!("hourglass-", env!("CARGO_PKG_VERSION")),
            })
        )
    );
    let head = hourglass.http().head(hourglass.url("/health"));
    let head = head.send().await.unwrap();
    assert_eq!(head.status(), 200);
    assert_eq!(head.text().await.unwrap(), "");
}

#[tokio::test]
async fn every_answer_has_the_version_and_who_it_really_is() {
    let (_dir, hourglass) = started();
    for (method, path) in [
        ("POST", "/write"),
        ("POST", "/write?precision=nonsense"),
        ("GET", "/write"),
        ("POST", "/api/v2/write"),
        ("DELETE", "/api/v2/write"),
        ("POST", "/api/v2/query"),
        ("GET", "/query?q=SHOW%20DATABASES"),
        ("GET", "/query"),
        ("POST", "/query"),
        ("HEAD", "/ping"),
        ("GET", "/health"),
    ] {
        let request = hourglass
            .http()
            .request(method.parse().unwrap(), hourglass.url(path));
        let response = request.send().await.unwrap();
        let header = |name: &str| response.headers()[name].to_str().unwrap();
        assert_eq!(header("x-influxdb-version"), "1.8.10", "{method} {path}");
        assert!(header("x-influxdb-build").starts_with("hourglass-"));
    }
    // The interface of hourglass itself has none of it.
    let own = hourglass.http().get(hourglass.url("/livez"));
    let own = own.send().await.unwrap();
    assert!(!own.headers().contains_key("x-influxdb-version"));
}

#[tokio::test]
async fn the_routes_are_labels_of_the_metrics_and_paths_are_not() {
    let (_dir, hourglass) = started();
    for path in ["/ping", "/api/v2/some/where", "/api/v2/else/where"] {
        let response = hourglass.http().get(hourglass.url(path)).send().await;
        assert!(response.is_ok());
    }
    let (_, page) = hourglass.get_text("/metrics").await;
    let samples = |route: &str| page.matches(&format!("route=\"{route}\"")).count();
    assert!(samples("/ping") > 0, "{page}");
    assert!(samples("/api/v2/{*path}") > 0, "{page}");
    assert!(!page.contains("some/where"), "{page}");
}
