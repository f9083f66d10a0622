//! Real answers are as described: status, media type, every field.

use std::collections::BTreeSet;

use reqwest::{Method, Response};
use serde_json::{Value, json};

use super::document;
use super::schema::{faults, resolve};
use crate::support::hourglass::{Hourglass, Start};

/// A request, its operation, and the status it is answered with.
pub(super) struct Case<'a> {
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) query: &'a str,
    pub(super) headers: &'a [(&'a str, &'a str)],
    pub(super) body: &'a str,
    pub(super) status: u16,
}

const JSON: &[(&str, &str)] = &[("content-type", "application/json")];

const KEYED: &[(&str, &str)] = &[
    ("content-type", "application/json"),
    ("idempotency-key", "k-1"),
];

fn post<'a>(query: &'a str, body: &'a str, status: u16) -> Case<'a> {
    Case {
        method: "post",
        path: "/v1/readings",
        query,
        headers: JSON,
        body,
        status,
    }
}

fn influx<'a>(path: &'a str, query: &'a str, body: &'a str, status: u16) -> Case<'a> {
    Case {
        path,
        headers: &[],
        ..post(query, body, status)
    }
}

fn get<'a>(path: &'a str, query: &'a str, status: u16) -> Case<'a> {
    Case {
        method: "get",
        path,
        query,
        headers: &[],
        body: "",
        status,
    }
}

fn delete<'a>(path: &'a str, query: &'a str, status: u16) -> Case<'a> {
    Case {
        method: "delete",
        ..get(path, query, status)
    }
}

impl Case<'_> {
    async fn send(&self, hourglass: &Hourglass) -> Response {
        let method: Method = self.method.to_ascii_uppercase().parse().unwrap();
        let path = self.path.replace("{id}", "S1");
        let mut request = hourglass
            .http()
            .request(method, hourglass.url(&format!("{path}{}", self.query)));
        for (name, value) in self.headers {
            request = request.header(*name, *value);
        }
        request.body(self.body.to_owned()).send().await.unwrap()
    }

    pub(super) async fn check(&self, hourglass: &Hourglass, document: &Value) {
        let name = format!("{} {}{} {}", self.method, self.path, self.query, self.body);
        let response = self.send(hourglass).await;
        assert_eq!(response.status().as_u16(), self.status, "{name}");
        let operation = &document["paths"][self.path][self.method];
        let described = &operation["responses"][self.status.to_string()];
        assert!(
            described.is_object(),
            "{name}: {} is not described",
            self.status
        );

        for header in described["headers"].as_object().into_iter().flatten() {
            let value = response.headers().get(header.0.as_str());
            let header_object = resolve(document, header.1);
            let Some(value) = value else {
                let may_be_absent = header_object["required"] != true;
                assert!(may_be_absent, "{name}: no header {}", header.0);
                continue;
            };
            let schema = &header_object["schema"];
            let text = value.to_str().unwrap();
            let value = match schema["type"].as_str() {
                Some("integer") => Value::from(text.parse::<u64>().unwrap()),
                _ => Value::from(text),
            };
            assert_eq!(faults(document, schema, &value), Vec::<String>::new());
        }
        if described["content"].is_null() {
            assert_eq!(response.text().await.unwrap(), "", "{name}");
            return;
        }
        let media_type = response.headers()["content-type"].to_str().unwrap();
        let media_type = media_type.split(';').next().unwrap().to_owned();
        let schema = &described["content"][&media_type]["schema"];
        assert!(schema.is_object(), "{name}: {media_type} is not described");
        let text = response.text().await.unwrap();
        let body: Value = match media_type.ends_with("json") && media_type != "application/x-ndjson"
        {
            true => serde_json::from_str(&text).unwrap(),
            false => text.into(),
        };
        assert_eq!(
            faults(document, schema, &body),
            Vec::<String>::new(),
            "{name}"
        );
    }
}

const LINE: &str = "m,sensor=S1 temp=24.1 1746093600\n";
const LINES: &str = "m,sensor=S1 temp=24.1 1746093600000000000\nm,sensor=S1 temp=NaN\n";

const MIXED: &str = r#"[{"sensorId":"S1","ts":"2025-05-01T10:00:00Z","temp":24.1,"hum":50},
    {"sensorId":"S1","ts":"2025-05-01T10:00:00Z","temp":25},{"temp":1}]"#;

#[tokio::test]
async fn answers_and_refusals_are_as_described() {
    let dir = tempfile::tempdir().unwrap();
    let hourglass = Start::on(dir.path())
        .set("SERVER__BODY_BYTES_MAX", "4KiB")
        .start();
    let document = document();
    let large = " ".repeat(5000);
    let form = " ".repeat((64 << 10) + 1);
    let csv = &[("accept", "text/csv")];
    let unknown = &[("content-type", "text/html")];
    let coding = &[
        ("content-type", "application/json"),
        ("content-encoding", "br"),
    ];
    let image = &[("accept", "image/png")];
    let cases = [
        get("/v1/sensors/{id}", "", 404),
        get("/v1/sites/{id}/hourly", "?from=0", 404),
        post("", MIXED, 202),
        post("", "[]", 202),
        post("?format=ndjson", "{}\n", 422),
        Case {
            headers: KEYED,
            ..post("", "[]", 202)
        },
        Case {
            headers: KEYED,
            ..post("", "[]", 202)
        },
        Case {
            headers: KEYED,
            ..post("", "[{}]", 422)
        },
        Case {
            headers: &[("idempotency-key", "")],
            ..post("?format=json", "[]", 400)
        },
        post("", "{", 400),
        post("", "", 400),
        post("", "7", 400),
        post("?unit=d", "[]", 400),
        post("?unit=h", "[]", 202),
        post("?dry_run=true", MIXED, 200),
        post(
            "?dry_run=true&format=line",
            "w,sensor=S1,r=4 t=1,s=\"x\"\nw\n",
            200,
        ),
        post(
            "?format=csv",
            "sensor,ts,temp\nS9,1746093600,1\nS9,x,1\n",
            202,
        ),
        post("?format=csv&sensorId=S1&temp=a", "a\nx\n", 422),
        post("?format=csv&sensorId=S1&temp=a", "b\n1\n", 400),
        post("", &large, 413),
        Case {
            headers: unknown,
            ..post("", "[]", 415)
        },
        Case {
            headers: coding,
            ..post("", "[]", 415)
        },
        get("/v1/sensors", "", 200),
        get("/v1/sensors", "?limit=0", 400),
        get("/v1/sensors/{id}", "", 200),
        get("/v1/sensors/{id}", "?x=1", 400),
        get("/v1/sites/{id}/hourly", "", 400),
        get("/v1/sensors/{id}/readings", "", 200),
        get("/v1/sensors/{id}/readings", "?limit=1&order=desc", 200),
        get("/v1/sensors/{id}/readings", "?format=ndjson", 200),
        get("/v1/sensors/{id}/readings", "?from=2&to=1", 400),
        delete("/v1/sensors/{id}/readings", "?from=1&to=2", 200),
        delete("/v1/sensors/{id}/readings", "?from=1", 400),
        Case {
            headers: csv,
            ..get("/v1/sensors/{id}/readings", "", 200)
        },
        Case {
            headers: image,
            ..get("/v1/sensors/{id}/readings", "", 406)
        },
        get("/v1/sensors/{id}/hourly", "", 200),
        get("/v1/sensors/{id}/hourly", "?form=1", 400),
        get("/v1/sensors/{id}/latest", "", 200),
        get("/v1/hourly", "?sensor=S1&sensor=none&from=0", 200),
        get("/v1/hourly", "?sensor=S1", 400),
        get("/v1/latest", "?sensor=S1&sensor=none", 200),
        get("/v1/latest", "", 400),
        get("/v1/retention", "", 200),
        get("/v1/retention", "?sensor=S1", 200),
        get("/v1/retention", "?since=1", 400),
        get("/v1/conflicts", "", 200),
        get("/v1/conflicts", "?limit=1", 400),
        get("/v1/sensors/{id}/conflicts", "?limit=1", 200),
        get("/v1/sensors/{id}/conflicts", "?limit=0", 400),
        get("/v1/rejected", "", 200),
        get("/v1/rejected", "?form=items&format=line", 200),
        get("/v1/rejected", "?reason=odd", 400),
        get("/v1/rejected/totals", "", 200),
        get("/v1/rejected/totals", "?reason=no_measures", 400),
        influx("/write", "", LINES, 400),
        influx("/write", "?precision=d", LINES, 400),
        influx("/write", "", &large, 413),
        Case {
            headers: &[("authorization", "nonsense")],
            ..influx("/write", "", LINES, 401)
        },
        Case {
            headers: &[("content-encoding", "br")],
            ..influx("/write", "", LINES, 415)
        },
        Case {
            headers: &[("idempotency-key", "w-1")],
            ..influx("/write", "?precision=s", LINE, 204)
        },
        Case {
            headers: &[("idempotency-key", "w-1")],
            ..influx("/write", "?precision=ms", LINE, 422)
        },
        Case {
            headers: &[("idempotency-key", "")],
            ..influx("/write", "", LINE, 400)
        },
        influx("/write", "?precision=s", LINE, 204),
        influx("/write", "", "", 204),
        influx("/api/v2/write", "", LINES, 400),
        influx("/api/v2/write", "?precision=d", LINES, 400),
        influx("/api/v2/write", "", &large, 413),
        Case {
            headers: &[("authorization", "nonsense")],
            ..influx("/api/v2/write", "", LINES, 401)
        },
        Case {
            headers: &[("content-encoding", "br")],
            ..influx("/api/v2/write", "", LINES, 415)
        },
        Case {
            headers: &[("idempotency-key", "w-1")],
            ..influx("/api/v2/write", "?precision=s", LINE, 422)
        },
        influx("/api/v2/write", "?precision=s", LINE, 204),
        influx("/api/v2/write", "", "", 204),
        get("/query", "?q=SHOW+DATABASES%3BCREATE+DATABASE+x", 200),
        get("/query", "?q=SELECT", 400),
        Case {
            headers: &[("authorization", "nonsense")],
            ..get("/query", "?q=SHOW+DATABASES", 401)
        },
        influx("/query", "?q=SHOW+DATABASES", "", 200),
        influx("/query", "?q=SELECT", "", 400),
        influx("/query", "", &form, 413),
        Case {
            headers: &[("content-encoding", "br")],
            ..influx("/query", "?q=SHOW+DATABASES", "", 415)
        },
        Case {
            headers: &[("authorization", "nonsense")],
            ..influx("/query", "?q=SHOW+DATABASES", "", 401)
        },
        get("/ping", "", 204),
        get("/ping", "?verbose=true", 200),
        get("/health", "", 200),
        get("/livez", "", 200),
        get("/readyz", "", 200),
        get("/metrics", "", 200),
    ];
    for case in &cases {
        case.check(&hourglass, &document).await;
    }
    let (_, rejected) = hourglass.get_text("/v1/rejected").await;
    let schema = &document["components"]["schemas"]["RejectedItem"];
    let mut formats = BTreeSet::new();
    for line in rejected.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        assert_eq!(faults(&document, schema, &record), Vec::<String>::new());
        formats.insert(record["format"].as_str().unwrap().to_owned());
    }
    assert_eq!(formats, ["csv", "json", "line"].map(String::from).into());
    let (_, conflicts) = hourglass.get("/v1/conflicts").await;
    let mut conflicts = conflicts["conflicts"].as_array().unwrap().iter();
    assert!(conflicts.any(|conflict| conflict["refused"] == json!(25.0)));
}

#[tokio::test]
async fn what_people_say_is_shown_as_described() {
    let dir = tempfile::tempdir().unwrap();
    let hourglass = Start::on(dir.path()).start();
    let site = json!({ "name": "Plant", "city": "Bern" });
    let sensor = json!({
        "name": "Boiler", "model": "SHT31", "units": { "temp": "°C" }, "site": "S1",
        "attributes": { "room": "5" }, "retention": "400d", "rawRetention": "30d",
    });
    for (path, body) in [("/v1/sites/S1", site), ("/v1/sensors/S1", sensor)] {
        let request = hourglass.http().put(hourglass.url(path));
        let request = request.header("content-type", "application/json");
        let response = request.body(body.to_string()).send().await.unwrap();
        assert_eq!(response.status().as_u16(), 201);
    }
    let document = document();
    // Never heard of, then heard of.
    for _ in 0..2 {
        for (path, query) in [
            ("/v1/sensors", "?site=S1&attr.room=5&attr_min.room=1"),
            ("/v1/sensors/{id}", ""),
            ("/v1/sites/{id}/hourly", "?from=-1h"),
        ] {
            get(path, query, 200).check(&hourglass, &document).await;
        }
        let reading = json!({ "sensorId": "S1", "temp": 1.5 });
        assert_eq!(hourglass.post(&reading).await.0, 202);
    }
}

#[tokio::test]
async fn tags_are_shown_as_described() {
    let dir = tempfile::tempdir().unwrap();
    let hourglass = Start::on(dir.path()).start();
    let lines = "cpu,device=d1,core=0 temp=1\ncpu,device=d1,core=0 temp=1 1746093600\n\
                 cpu,device=d1,core=1 temp=2 1746093600";
    assert_eq!(hourglass.post_as("text/plain", lines).await.0, 202);
    let document = document();
    for path in ["/v1/sensors", "/v1/conflicts"] {
        get(path, "", 200).check(&hourglass, &document).await;
    }
    let (_, sensors) = hourglass.get("/v1/sensors").await;
    assert_eq!(sensors["sensors"][0]["attributes"], json!({ "core": "1" }));
    let (_, conflicts) = hourglass.get("/v1/conflicts").await;
    assert!(conflicts["conflicts"][0]["hint"].is_string());
}

/// A journal of two segments of 64 KiB fills while nothing is released.
#[tokio::test]
async fn a_full_journal_is_answered_as_described() {
    let dir = tempfile::tempdir().unwrap();
    let hourglass = Start::on(dir.path())
        .store("mongodb://127.0.0.1:9/?serverSelectionTimeoutMS=100")
        .set("JOURNAL__SEGMENT_BYTES", "64KiB")
        .set("JOURNAL__BYTES_MAX", "128KiB")
        .start();
    let items: Vec<Value> = (0..2000)
        .map(|n| json!({"sensorId": "S1", "ts": 1_700_000_000 + n, "temp": n}))
        .collect();
    let body = Value::from(items);
    while hourglass.post(&body).await.0 == 202 {}
    let document = document();
    post("", &body.to_string(), 503)
        .check(&hourglass, &document)
        .await;
    get("/readyz", "", 503).check(&hourglass, &document).await;
    get("/health", "", 503).check(&hourglass, &document).await;
    for path in ["/write", "/api/v2/write"] {
        let lines: String = (0..2000)
            .map(|n| format!("m,sensor=S1 temp={n} {}\n", 1_700_000_000 + n))
            .collect();
        influx(path, "?precision=s", &lines, 503)
            .check(&hourglass, &document)
            .await;
    }
    // What was taken is still seen, and said to be a part.
    get("/v1/sensors/{id}/latest", "", 200)
        .check(&hourglass, &document)
        .await;
    let (_, latest) = hourglass.get("/v1/sensors/S1/latest").await;
    assert_eq!(latest["incompleteReason"], "store_unavailable");
}

/// The web framework would answer in a form of its own.
#[tokio::test]
async fn an_id_that_is_no_text_is_refused_in_the_form_of_all_refusals() {
    let dir = tempfile::tempdir().unwrap();
    let hourglass = Start::on(dir.path()).start();
    let document = document();
    for path in ["readings", "hourly", "latest"] {
        for id in ["%FF", "%00", "%20", "..%2F%80"] {
            let url = hourglass.url(&format!("/v1/sensors/{id}/{path}"));
            let response = hourglass.http().get(url).send().await.unwrap();
            assert_eq!(response.status().as_u16(), 400, "{id} {path}");
            let problem: Value = response.json().await.unwrap();
            assert_eq!(problem["code"], "invalid_parameter");
            let schema = json!({"$ref": "#/components/schemas/Problem"});
            assert_eq!(faults(&document, &schema, &problem), Vec::<String>::new());
        }
    }
}
