//! `/query`: clients of version 1 connect, and learn where reading is done.

use reqwest::RequestBuilder;
use serde_json::{Value, json};

use super::builders::{Endpoint, Told, gzip, started};
use crate::support::hourglass::Hourglass;

/// The statement by every way that clients have.
async fn ways(hourglass: &Hourglass, q: &str) -> Vec<RequestBuilder> {
    let http = hourglass.http();
    let encoded: String = q.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let address = hourglass.url(&format!("/query?db=plant&q={encoded}"));
    let form = "application/x-www-form-urlencoded";
    let body = format!("q={encoded}&db=plant");
    let query = hourglass.url("/query");
    vec![
        http.get(&address),
        http.post(&address),
        http.post(&address)
            .header("content-type", "text/plain")
            .body("q=SELECT"),
        http.post(&query)
            .header("content-type", form)
            .body(body.clone()),
        http.post(&query)
            .header("content-type", format!("{form}; charset=utf-8"))
            .header("content-encoding", "gzip")
            .body(gzip(&body).await),
        // The form counts before the address.
        http.post(hourglass.url("/query?q=SELECT&db=x"))
            .header("content-type", form)
            .body(body),
    ]
}

fn databases(id: u64) -> Value {
    json!({
        "statement_id": id,
        "series": [{
            "name": "databases",
            "columns": ["name"],
            "values": [["hourglass"], ["plant"]],
        }],
    })
}

#[tokio::test]
async fn what_clients_ask_when_they_connect_is_answered() {
    let (_dir, hourglass) = started();
    for (q, results) in [
        (r#"CREATE DATABASE "plant""#, json!([{ "statement_id": 0 }])),
        ("create database plant;", json!([{ "statement_id": 0 }])),
        ("SHOW DATABASES", json!([databases(0)])),
        (
            "CREATE DATABASE plant; show Databases;SHOW DATABASES",
            json!([{ "statement_id": 0 }, databases(1), databases(2)]),
        ),
    ] {
        for request in ways(&hourglass, q).await {
            let told = Told::of(Endpoint::V1, request.send().await.unwrap()).await;
            assert_eq!(told.status, 200, "{q}: {told:?}");
            assert_eq!(told.json(), json!({ "results": results }), "{q}");
            assert_eq!(told.header("x-influxdb-version"), "1.8.10");
        }
    }
    for (path, values) in [
        ("/query?q=SHOW+DATABASES", json!([["hourglass"]])),
        ("/query?q=SHOW+DATABASES&db=", json!([["hourglass"]])),
        (
            "/query?q=SHOW+DATABASES&db=hourglass",
            json!([["hourglass"]]),
        ),
    ] {
        let (_, answer) = hourglass.get(path).await;
        assert_eq!(answer["results"][0]["series"][0]["values"], values);
    }
}

/// A 200 with an error inside would pass for success with whoever looks at the
/// status alone.
#[tokio::test]
async fn anything_else_is_400_and_says_where_reading_is_done() {
    let (_dir, hourglass) = started();
    for q in [
        "SELECT mean(temp) FROM plant GROUP BY time(1h)",
        "SHOW MEASUREMENTS",
        "DROP DATABASE plant",
        "SHOW DATABASES; SELECT 1",
        "CREATE USER me WITH PASSWORD 's3cret'",
    ] {
        for request in ways(&hourglass, q).await {
            let told = Told::of(Endpoint::V1, request.send().await.unwrap()).await;
            let message = told.error(400, "");
            assert!(message.starts_with("error parsing query: "), "{message}");
            assert!(message.contains("/v1/sensors/{id}/hourly"), "{message}");
            assert!(!message.contains("s3cret"), "{message}");
        }
    }
    for request in ways(&hourglass, "").await.into_iter().take(2) {
        let told = Told::of(Endpoint::V1, request.send().await.unwrap()).await;
        let message = told.error(400, "");
        assert_eq!(message, "the parameter `q` is missing or empty");
    }
    let large = hourglass.http().post(hourglass.url("/query"));
    let large = large.body("q".repeat((64 << 10) + 1));
    let told = Told::of(Endpoint::V1, large.send().await.unwrap()).await;
    told.error(413, "");
}
