//! Paths and methods that are not there.

use reqwest::Method;
use tempfile::TempDir;

use super::answers::{expect_problem, expect_unharmed, started};
use crate::support::hourglass::Start;

#[tokio::test]
async fn an_unknown_path_is_a_problem_that_names_it() {
    let (_dir, hourglass) = started();
    for path in [
        "/nothing",
        "/v1",
        "/v1/reading",
        "/v1/readings/",
        "/v1/sensors/S1/reading",
        "/v1/sensors/a/b/readings",
        "//v1/readings",
        "/V1/readings",
    ] {
        let request = hourglass.http().get(hourglass.url(path));
        let named = format!("there is nothing at `{path}`");
        expect_problem(request, 404, "not_found", &[&named]).await;
    }
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn a_method_that_a_path_does_not_take_is_told_which_it_does() {
    let (_dir, hourglass) = started();
    for (method, path, allowed) in [
        (Method::GET, "/v1/readings", "POST"),
        (Method::PUT, "/v1/readings", "POST"),
        (Method::DELETE, "/v1/readings", "POST"),
        (Method::PATCH, "/v1/readings", "POST"),
        (Method::OPTIONS, "/v1/readings", "POST"),
        (Method::TRACE, "/v1/readings", "POST"),
        (Method::from_bytes(b"BREW").unwrap(), "/v1/readings", "POST"),
        (Method::POST, "/v1/sensors", "GET,HEAD,PUT"),
        (Method::POST, "/v1/sensors/S1/readings", "GET,HEAD,DELETE"),
        (Method::DELETE, "/v1/sensors/S1/hourly", "GET,HEAD"),
        (Method::POST, "/v1/latest", "GET,HEAD"),
        (Method::POST, "/metrics", "GET,HEAD"),
        (Method::POST, "/livez", "GET,HEAD"),
    ] {
        let request = hourglass
            .http()
            .request(method.clone(), hourglass.url(path));
        let told = request.try_clone().unwrap().send().await.unwrap();
        assert_eq!(told.headers()["allow"], allowed, "{method} {path}");
        let named = format!("`{path}` does not take {method}");
        expect_problem(request, 405, "method_not_allowed", &[&named]).await;
    }
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn an_id_in_a_path_is_refused_as_one_in_a_body_is() {
    let (_dir, hourglass) = started();
    let long = "x".repeat(129);
    for (id, part) in [
        ("", "a sensor id must not be blank"),
        ("%20", "a sensor id must not be blank"),
        ("a%00b", "must not contain control characters"),
        ("a%0Ab", "must not contain control characters"),
        (&long, "at most 128 bytes, this one has 129"),
        ("%FF", "not UTF-8"),
        ("a%C3", "not UTF-8"),
        ("%ED%A0%80", "not UTF-8"),
    ] {
        for rest in ["readings", "hourly", "latest"] {
            let url = hourglass.url(&format!("/v1/sensors/{id}/{rest}"));
            let request = hourglass.http().get(url);
            expect_problem(request, 400, "invalid_parameter", &[part]).await;
        }
        let url = hourglass.url(&format!("/v1/latest?sensor={id}"));
        let request = hourglass.http().get(url);
        expect_problem(request, 400, "invalid_parameter", &[part]).await;
    }
    expect_unharmed(&hourglass).await;
}

/// What a request is refused for before its body does not hold the sensor cap.
#[tokio::test]
async fn sensors_of_a_refused_body_take_no_place_under_the_cap() {
    let dir = TempDir::new().unwrap();
    let start = Start::on(dir.path()).set("INGEST__SENSORS_MAX", "100");
    let hourglass = start.start();
    let items: String = (0..500)
        .map(|n| format!(r#"{{"sensorId":"ghost {n}","temp":1}},"#))
        .collect();
    let body = format!("[{items}");
    let (status, _) = hourglass.post_as("application/json", body).await;
    assert_eq!(status, 400);
    assert_eq!(hourglass.metric("hourglass_sensors").await, 0.0);
    expect_unharmed(&hourglass).await;
    assert_eq!(hourglass.metric("hourglass_sensors").await, 1.0);
}
