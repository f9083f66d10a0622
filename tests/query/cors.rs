//! Pages of other origins: only those that are configured.

use reqwest::Method;
use reqwest::header::HeaderMap;
use tempfile::TempDir;

use crate::support::hourglass::{Hourglass, Start};

const PAGE: &str = "https://dash.example:3000";

async fn headers(hourglass: &Hourglass, method: Method, path: &str, origin: &str) -> HeaderMap {
    let request = hourglass
        .http()
        .request(method, hourglass.url(path))
        .header("origin", origin)
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "content-type");
    request.send().await.unwrap().headers().clone()
}

#[tokio::test]
async fn without_origins_no_answer_allows_any_page() {
    let dir = TempDir::new().unwrap();
    let hourglass = Start::on(dir.path()).start();
    for (method, path) in [
        (Method::GET, "/v1/sensors"),
        (Method::OPTIONS, "/v1/readings"),
        (Method::GET, "/v1/sensors?limit=0"),
    ] {
        let headers = headers(&hourglass, method, path, PAGE).await;
        let names: Vec<&str> = headers.keys().map(|name| name.as_str()).collect();
        assert!(
            !names.iter().any(|name| name.starts_with("access-control-")),
            "{names:?}"
        );
    }
}

#[tokio::test]
async fn a_configured_origin_is_allowed_and_no_other() {
    let dir = TempDir::new().unwrap();
    let hourglass = Start::on(dir.path())
        .set(
            "SERVER__CORS_ORIGINS",
            "http://localhost:5173,https://dash.example:3000",
        )
        .start();
    // Errors too: a page must be able to read why.
    for path in ["/v1/sensors", "/v1/sensors?limit=0", "/v1/nothing"] {
        let headers = headers(&hourglass, Method::GET, path, PAGE).await;
        assert_eq!(headers["access-control-allow-origin"], PAGE, "{path}");
        let exposed = headers["access-control-expose-headers"].to_str().unwrap();
        assert!(exposed.contains("retry-after"), "{exposed}");
        assert!(exposed.contains("hourglass-complete"), "{exposed}");
        let vary = headers.get_all("vary").iter();
        assert!(
            vary.into_iter()
                .any(|v| v.to_str().unwrap().contains("origin"))
        );
    }
    let preflight = headers(&hourglass, Method::OPTIONS, "/v1/readings", PAGE).await;
    assert_eq!(preflight["access-control-allow-origin"], PAGE);
    let methods = preflight["access-control-allow-methods"].to_str().unwrap();
    assert!(methods.contains("POST"), "{methods}");
    let allowed = preflight["access-control-allow-headers"].to_str().unwrap();
    assert!(allowed.contains("content-type"), "{allowed}");

    for other in ["https://dash.example", "https://evil.example", "null"] {
        let headers = headers(&hourglass, Method::GET, "/v1/sensors", other).await;
        assert!(
            !headers.contains_key("access-control-allow-origin"),
            "{other}"
        );
    }
}

#[tokio::test]
async fn a_star_allows_every_page() {
    let dir = TempDir::new().unwrap();
    let hourglass = Start::on(dir.path())
        .set("SERVER__CORS_ORIGINS", "*")
        .start();
    let headers = headers(&hourglass, Method::GET, "/v1/sensors", PAGE).await;
    assert_eq!(headers["access-control-allow-origin"], "*");
    assert!(!headers.contains_key("access-control-allow-credentials"));
}
