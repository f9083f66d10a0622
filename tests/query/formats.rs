//! JSON, NDJSON and CSV say the same.

use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::fixture::{OLD, Site, post, quiet};
use crate::support::hourglass::Hourglass;

/// Status, Content-Type and text.
async fn get(hourglass: &Hourglass, path: &str, accept: Option<&str>) -> (u16, String, String) {
    let mut request = hourglass.http().get(hourglass.url(path));
    if let Some(accept) = accept {
        request = request.header("accept", accept);
    }
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    if status == 200 {
        assert_eq!(response.headers()["hourglass-complete"], "true");
    }
    let content_type = response.headers()["content-type"]
        .to_str()
        .unwrap()
        .to_owned();
    (status, content_type, response.text().await.unwrap())
}

/// The readings of a CSV text, as JSON has them.
fn from_csv(text: &str) -> Vec<Value> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let names = reader.headers().unwrap().clone();
    let reading = |row: csv::StringRecord| {
        let cells = names.iter().zip(row.iter()).skip(1);
        let values: Map<String, Value> = cells
            .filter(|(_, cell)| !cell.is_empty())
            .map(|(name, cell)| (name.to_owned(), json!(cell.parse::<f64>().unwrap())))
            .collect();
        json!({ "ts": &row[0], "measures": values })
    };
    reader.records().map(|row| reading(row.unwrap())).collect()
}

/// The same of NDJSON; every line names the sensor.
fn from_ndjson(text: &str, sensor: &str) -> Vec<Value> {
    let reading = |line: &str| {
        let mut reading: Value = serde_json::from_str(line).unwrap();
        let id = reading.as_object_mut().unwrap().remove("sensorId");
        assert_eq!(id, Some(sensor.into()));
        reading
    };
    text.lines().map(reading).collect()
}

async fn assert_the_same(hourglass: &Hourglass, sensor: &str, query: &str, count: usize) {
    let path = format!("/v1/sensors/{sensor}/readings?{query}");
    let (status, content_type, json) = get(hourglass, &path, None).await;
    assert_eq!((status, content_type.as_str()), (200, "application/json"));
    let json: Value = serde_json::from_str(&json).unwrap();
    let readings = json["readings"].as_array().unwrap();
    assert_eq!(readings.len(), count, "{query}");
    for (format, accept) in [
        ("ndjson", "application/x-ndjson"),
        ("csv", "text/csv"),
        ("json", "application/json"),
    ] {
        let (status, content_type, text) = get(hourglass, &path, Some(accept)).await;
        assert_eq!(status, 200, "{text}");
        assert!(content_type.starts_with(accept), "{content_type}");
        // What the URL says goes before what the header says.
        let path = format!("{path}&format={format}");
        for accept in [None, Some("image/png")] {
            let named = get(hourglass, &path, accept).await;
            assert_eq!(named, (200, content_type.clone(), text.clone()));
        }
        let same = match format {
            "ndjson" => from_ndjson(&text, sensor),
            "csv" => from_csv(&text),
            _ => serde_json::from_str::<Value>(&text).unwrap()["readings"]
                .as_array()
                .unwrap()
                .clone(),
        };
        assert_eq!(same, *readings, "{format} {query}");
    }
}

#[tokio::test]
async fn all_formats_agree_in_every_range_order_and_choice_of_measures() {
    let site = Site::start().await;
    let all = &site.instants;
    for (query, count) in [
        ("order=asc".to_owned(), 35),
        ("order=desc&limit=12".to_owned(), 12),
        (format!("from={}&to={}", all[5], all[25]), 20),
        ("measure=temp".to_owned(), 35),
        ("measure=humidity".to_owned(), 18),
        ("measure=humidity&measure=temp".to_owned(), 35),
        ("measure=absent".to_owned(), 0),
    ] {
        assert_the_same(&site.hourglass, "S1", &query, count).await;
    }
    let (_, csv) = site
        .hourglass
        .get_text("/v1/sensors/S1/readings?format=csv&limit=1&measure=humidity&measure=temp&measure=humidity")
        .await;
    // Columns in the order asked for, each once; else by name.
    assert!(csv.starts_with("ts,humidity,temp\r\n"), "{csv}");
}

#[tokio::test]
async fn hard_names_and_numbers_survive_every_format() {
    let dir = TempDir::new().unwrap();
    let hourglass = quiet(&dir).start();
    let measures = json!({
        "a,b": 1e300, "\"q\"": -1e-300, " ": 0.1, "Temp": 5e-324, "temp": -0.5,
        "ä.b": 9_007_199_254_740_992_i64, "sec": 1, "$x": true, "ts": 3, "=1+1": 2.5,
    });
    // A name of white space only is refused; that item alone.
    let mut legal = measures.clone();
    legal.as_object_mut().unwrap().remove(" ");
    let item = |second: i64, measures: &Value| json!({ "sensorId": "a/b \"c\"", "ts": OLD + second, "measures": measures });
    let (_, answer) = hourglass.post(&json!([item(0, &measures)])).await;
    assert_eq!(answer["errors"][0]["code"], "invalid_measure_name");
    post(
        &hourglass,
        &json!([item(0, &legal), item(1, &json!({ "temp": 7 }))]),
    )
    .await;
    let path = "/v1/sensors/a%2Fb%20%22c%22/readings";
    let (_, json) = hourglass.get(path).await;
    let mut expected = legal.clone();
    for (_, value) in expected.as_object_mut().unwrap() {
        *value = json!(value.as_f64().unwrap_or(1.0));
    }
    assert_eq!(json["sensorId"], "a/b \"c\"");
    assert_eq!(json["readings"][0]["measures"], expected);
    let (_, text) = hourglass.get_text(&format!("{path}?format=ndjson")).await;
    let readings = json["readings"].as_array().unwrap();
    assert_eq!(from_ndjson(&text, "a/b \"c\""), *readings);
    let (_, text) = hourglass.get_text(&format!("{path}?format=csv")).await;
    assert_eq!(from_csv(&text), *readings, "{text}");
}

#[tokio::test]
async fn what_cannot_be_had_is_406_and_an_unknown_format_400() {
    let dir = TempDir::new().unwrap();
    let hourglass = quiet(&dir).start();
    let path = "/v1/sensors/S1/readings";
    let (status, content_type, text) = get(&hourglass, path, Some("image/png")).await;
    assert_eq!(
        (status, content_type.as_str()),
        (406, "application/problem+json"),
        "{text}"
    );
    for (accept, content_type) in [
        ("*/*", "application/json"),
        ("image/png, text/csv;q=0.5", "text/csv; charset=utf-8"),
        ("APPLICATION/X-NDJSON", "application/x-ndjson"),
    ] {
        assert_eq!(
            get(&hourglass, path, Some(accept)).await.1,
            content_type,
            "{accept}"
        );
    }
    let (status, problem) = hourglass.get(&format!("{path}?format=xml")).await;
    assert_eq!(status, 400);
    let detail = problem["detail"].as_str().unwrap();
    assert!(
        detail.contains("json, ndjson or csv, not `xml`"),
        "{detail}"
    );
}
