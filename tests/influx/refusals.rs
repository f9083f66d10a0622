//! What is refused for good, in InfluxDB's forms.

use serde_json::json;
use tempfile::TempDir;

use super::builders::{
    Endpoint, INFLUX, TEN, Told, assert_balanced, gzip, readings, started, values,
};
use crate::support::hourglass::Start;

#[tokio::test]
async fn a_partial_write_tells_which_lines_were_refused_once_the_others_are_durable() {
    let (_dir, hourglass) = started();
    for endpoint in INFLUX {
        let body = format!(
            "plant,sensor={endpoint:?} temp=1 {TEN}\n\
             plant,sensor={endpoint:?} temp=NaN {TEN}\n\
             # a remark\n\
             plant,sensor={endpoint:?} note=\"text\" {TEN}\n\
             plant,sensor={endpoint:?} temp= {TEN}\n\
             plant,sensor={endpoint:?} temp=2 {}\n\
             plant,sensor={endpoint:?} temp=3 1\n",
            TEN + 1
        );
        let told = endpoint.send(&hourglass, "s", body).await;
        told.assert_refused(2, &[(2, "not_finite"), (5, "invalid_line"), (7, "too_old")]);
        let message = told.error(400, "invalid");
        assert!(
            message.ends_with("in all: invalid_line 1, not_finite 1, too_old 1 dropped=3"),
            "{message}"
        );
        assert_eq!(
            values(&hourglass, &format!("{endpoint:?}")).await,
            [json!({ "temp": 1.0 }), json!({ "temp": 2.0 })]
        );
    }
    assert_balanced(&hourglass).await;
}

#[tokio::test]
async fn a_body_of_which_nothing_is_taken_is_told_in_the_same_form() {
    let (_dir, hourglass) = started();
    for endpoint in INFLUX {
        for (body, code) in [
            ("temperature 24.1", "invalid_line"),
            ("plant,sensor=S1 temp=x", "not_a_number"),
            (r#"[{"sensorId":"S1","temp":1}]"#, "invalid_line"),
            ("plant,sensor=S1 temp=1,temp=2", "duplicate_field"),
            ("plant,sensor=S1 n=9007199254740993i", "integer_too_large"),
        ] {
            let told = endpoint.send(&hourglass, "", body).await;
            told.assert_refused(0, &[(1, code)]);
        }
        // Text is skipped, and nothing else was there.
        let body = "plant,sensor=S1 note=\"x\"\nplant,sensor=S1 temp=x\n";
        let told = endpoint.send(&hourglass, "", body).await;
        told.assert_refused(0, &[(2, "not_a_number")]);
    }
    assert!(readings(&hourglass, "S1").await.is_empty());
    assert_balanced(&hourglass).await;
}

/// Names of fields may hold anything; the header that repeats the message may
/// not.
#[tokio::test]
async fn whatever_a_line_holds_the_answer_is_sound() {
    let (_dir, hourglass) = started();
    for endpoint in INFLUX {
        for name in ["é\u{1f321}", "a\\ b\"", "tab\there", "\u{1}\u{7f}", "ﬀ"] {
            let body = format!("plant,sensor=S1 {name}=nonsense\n");
            let told = endpoint.send(&hourglass, "", body).await;
            assert_eq!(told.status, 400, "{told:?}");
            let key = if endpoint == Endpoint::V1 {
                "error"
            } else {
                "message"
            };
            let message = told.json()[key].as_str().unwrap().to_owned();
            assert!(message.contains("not_a_number"), "{message}");
            if endpoint == Endpoint::V1 {
                let header = told.header("x-influxdb-error");
                assert!(header.contains("(not_a_number): "), "{header}");
            }
        }
    }
}

#[tokio::test]
async fn a_precision_that_is_none_is_refused_before_anything_is_taken() {
    let (_dir, hourglass) = started();
    for (endpoint, precisions) in [
        (Endpoint::V1, &["d", "sec", "S", "1", "rfc3339", "s%20"][..]),
        (Endpoint::V2, &["d", "sec", "n", "u", "MS", "ns,s"]),
    ] {
        for precision in precisions {
            let line = format!("plant,sensor=S1 temp=1 {TEN}");
            let told = endpoint.send(&hourglass, precision, line).await;
            let message = told.error(400, "invalid");
            assert!(message.starts_with("`precision` is "), "{message}");
        }
    }
    assert!(readings(&hourglass, "S1").await.is_empty());
    assert_balanced(&hourglass).await;
}

#[tokio::test]
async fn a_body_that_is_too_large_is_413_so_that_clients_split_it() {
    let dir = TempDir::new().unwrap();
    let hourglass = Start::on(dir.path())
        .set("SERVER__BODY_BYTES_MAX", "4KiB")
        .set("SERVER__BODY_RATIO_MAX", "600")
        .start();
    let line = |n: i64| format!("plant,sensor=S1 temp={n} {}\n", TEN + n);
    let large: String = (0..1000).map(line).collect();
    for endpoint in INFLUX {
        let told = endpoint.send(&hourglass, "s", large.clone()).await;
        let message = told.error(413, "request too large");
        assert!(message.contains("larger than 4096 bytes"), "{message}");
        let request = endpoint.request(&hourglass, "s", gzip(&large).await);
        let request = request.header("content-encoding", "gzip");
        let told = Told::of(endpoint, request.send().await.unwrap()).await;
        told.error(413, "request too large");
        let small: String = (0..10).map(line).collect();
        endpoint.send(&hourglass, "s", small).await.assert_taken();
    }
    assert_eq!(values(&hourglass, "S1").await.len(), 10);
    assert_balanced(&hourglass).await;
}

#[tokio::test]
async fn a_body_that_no_journal_of_this_bound_takes_is_413_too() {
    let dir = TempDir::new().unwrap();
    let hourglass = Start::on(dir.path())
        .set("JOURNAL__SEGMENT_BYTES", "64KiB")
        .set("JOURNAL__BYTES_MAX", "128KiB")
        .start();
    let lines: String = (0..4000)
        .map(|n| format!("plant,sensor=S{n} temp={n} {TEN}\n"))
        .collect();
    for endpoint in INFLUX {
        let told = endpoint.send(&hourglass, "s", lines.clone()).await;
        let message = told.error(413, "request too large");
        assert!(message.contains("journal.bytes_max"), "{message}");
    }
}

#[tokio::test]
async fn a_damaged_body_and_an_unknown_coding_are_refused() {
    let (_dir, hourglass) = started();
    for endpoint in INFLUX {
        let line = format!("plant,sensor=S1 temp=1 {TEN}");
        let whole = gzip(&line).await;
        for body in [&whole[..whole.len() - 9], line.as_bytes()] {
            let request = endpoint.request(&hourglass, "s", body.to_vec());
            let request = request.header("content-encoding", "gzip");
            let told = Told::of(endpoint, request.send().await.unwrap()).await;
            let message = told.error(400, "invalid");
            assert!(message.contains("cannot be decompressed"), "{message}");
        }
        let request = endpoint.request(&hourglass, "s", line);
        let request = request.header("content-encoding", "br");
        let told = Told::of(endpoint, request.send().await.unwrap()).await;
        let message = told.error(415, "unsupported media type");
        assert!(message.contains("send gzip, zstd or identity"), "{message}");
    }
    assert!(readings(&hourglass, "S1").await.is_empty());
}

#[tokio::test]
async fn an_authorization_that_cannot_be_read_is_401() {
    let (_dir, hourglass) = started();
    for endpoint in INFLUX {
        let scheme = match endpoint {
            Endpoint::V1 => "Basic realm=\"hourglass\"",
            _ => "Token realm=\"hourglass\"",
        };
        for header in [
            "nonsense",
            "Digest abc",
            "Basic !",
            "Token a b",
            "Basic YWJj",
        ] {
            let line = format!("plant,sensor=S1 temp=1 {TEN}");
            let request = endpoint.request(&hourglass, "s", line);
            let request = request.header("authorization", header);
            let told = Told::of(endpoint, request.send().await.unwrap()).await;
            let message = told.error(401, "unauthorized");
            assert!(message.contains("Authorization header"), "{message}");
            assert_eq!(told.header("www-authenticate"), scheme);
        }
        for header in [
            "Token",
            "Token abc==",
            "Bearer a.b",
            "Basic dTpw",
            "basic Og==",
        ] {
            let line = format!("plant,sensor={endpoint:?} temp=1 {TEN}");
            let request = endpoint.request(&hourglass, "s", line);
            let request = request.header("authorization", header);
            let told = Told::of(endpoint, request.send().await.unwrap()).await;
            told.assert_taken();
        }
    }
    assert!(readings(&hourglass, "S1").await.is_empty());
}

#[tokio::test]
async fn other_methods_and_paths_are_told_in_the_form_of_the_interface() {
    let (_dir, hourglass) = started();
    for (endpoint, method, path, allow) in [
        (Endpoint::V1, "GET", "/write", "POST"),
        (Endpoint::V1, "DELETE", "/query", "GET,HEAD,POST"),
        (Endpoint::V1, "POST", "/ping", "GET,HEAD"),
        (Endpoint::V2, "GET", "/api/v2/write", "POST"),
        (Endpoint::V2, "PUT", "/health", "GET,HEAD"),
    ] {
        let request = hourglass
            .http()
            .request(method.parse().unwrap(), hourglass.url(path));
        let told = Told::of(endpoint, request.send().await.unwrap()).await;
        let message = told.error(405, "method not allowed");
        assert_eq!(message, format!("`{path}` does not take {method}"));
        assert_eq!(told.header("allow"), allow);
    }
    for path in ["/api/v2/query", "/api/v2/buckets", "/api/v2/write/x"] {
        let request = hourglass.http().post(hourglass.url(path));
        let told = Told::of(Endpoint::V2, request.send().await.unwrap()).await;
        let message = told.error(404, "not found");
        assert!(message.contains("/v1/sensors/{id}/hourly"), "{message}");
    }
}
