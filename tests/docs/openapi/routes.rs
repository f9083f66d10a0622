//! Every route is described, and what is described is a route.

use std::collections::BTreeSet;

use reqwest::Method;

use super::{METHODS, document, operations, sources};
use crate::support::hourglass::{Hourglass, Start};

/// Path and method of every `.route(…)` in the sources of the interface.
fn in_code() -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for (_, text) in sources() {
        for call in text.split(".route(").skip(1) {
            let call = call.split(".route(").next().unwrap();
            let path = call.split('"').nth(1).unwrap();
            let mut depth = 1;
            let end = call.find(|c| {
                depth += i32::from(c == '(') - i32::from(c == ')');
                depth == 0
            });
            let call: String = call[..end.unwrap()].split_whitespace().collect();
            let handlers = call.split_once(',').unwrap().1;
            for method in METHODS {
                let names = [format!("{method}("), format!(".{method}(")];
                if handlers.starts_with(&names[0]) || handlers.contains(&names[1]) {
                    found.insert((path.to_owned(), method.to_owned()));
                }
            }
        }
    }
    found
}

#[test]
fn the_routes_of_the_code_are_the_ones_described() {
    let described: BTreeSet<_> = operations(&document()).into_iter().collect();
    assert_eq!(described, in_code());
}

async fn ask(hourglass: &Hourglass, method: &str, path: &str) -> (u16, String) {
    let method: Method = method.to_ascii_uppercase().parse().unwrap();
    let url = hourglass.url(&path.replace("{id}", "S1"));
    let response = hourglass.http().request(method, url).send().await.unwrap();
    let status = response.status().as_u16();
    (status, response.text().await.unwrap())
}

/// What the refusal of a method says at `path`.
fn refusal(path: &str) -> &'static str {
    match path {
        "/write" | "/query" | "/ping" => r#"{"error":"`/"#,
        "/api/v2/write" | "/health" => r#"{"code":"method not allowed","#,
        _ => r#""code":"method_not_allowed""#,
    }
}

#[tokio::test]
async fn the_process_takes_what_is_described_and_no_other_method() {
    let dir = tempfile::tempdir().unwrap();
    let hourglass = Start::on(dir.path()).start();
    // What `{id}` names is there.
    for path in ["/v1/sites/S1", "/v1/sensors/S1"] {
        let put = hourglass.http().put(hourglass.url(path));
        let put = put.json(&serde_json::json!({})).send().await.unwrap();
        assert_eq!(put.status(), 201);
    }
    let operations = operations(&document());
    let paths: BTreeSet<_> = operations.iter().map(|(path, _)| path).collect();
    for path in paths {
        for method in METHODS {
            let (status, body) = ask(&hourglass, method, path).await;
            let described = operations.contains(&(path.clone(), method.to_owned()));
            if described {
                assert!(![404, 405].contains(&status), "{method} {path}: {status}");
                if method == "get" {
                    let (head, _) = ask(&hourglass, "head", path).await;
                    assert_eq!(head, status, "head {path}");
                }
            } else {
                assert_eq!(status, 405, "{method} {path}");
                assert!(body.contains(refusal(path)), "{body}");
            }
        }
    }
    let (status, body) = ask(&hourglass, "get", "/v1/nothing").await;
    assert_eq!(status, 404);
    assert!(body.contains(r#""code":"not_found""#), "{body}");
    for method in METHODS {
        let (status, body) = ask(&hourglass, method, "/api/v2/query").await;
        assert_eq!(status, 404);
        assert!(body.starts_with(r#"{"code":"not found","#), "{body}");
    }
}

#[tokio::test]
async fn the_process_serves_the_description() {
    let dir = tempfile::tempdir().unwrap();
    let hourglass = Start::on(dir.path()).start();
    let (status, served) = hourglass.get("/openapi.json").await;
    assert_eq!(status, 200);
    assert!(served == document(), "another document is served");
    let version = document()["info"]["version"].clone();
    assert_eq!(version, env!("CARGO_PKG_VERSION"));
}
