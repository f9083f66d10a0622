//! What is taken, and comes out as it was meant.

use async_compression::tokio::bufread::ZstdEncoder;
use jiff::Timestamp;
use serde_json::json;
use tokio::io::AsyncReadExt;

use super::builders::{
    ALL, Endpoint, INFLUX, TEN, Told, assert_balanced, gzip, reading, readings, started, values,
};

#[tokio::test]
async fn every_precision_gives_the_same_instant_and_nanoseconds_are_the_default() {
    let (_dir, hourglass) = started();
    for endpoint in INFLUX {
        let short: &[&str] = match endpoint {
            Endpoint::V1 => &["n", "u"],
            _ => &[],
        };
        for unit in ["", "ns", "us", "ms", "s", "m", "h"].iter().chain(short) {
            let time = match *unit {
                "us" | "u" => TEN * 1_000_000,
                "ms" => TEN * 1_000,
                "s" => TEN,
                "m" => TEN / 60,
                "h" => TEN / 3600,
                _ => TEN * 1_000_000_000,
            };
            let sensor = format!("{endpoint:?} {unit}");
            let tag = sensor.replace(' ', "\\ ");
            let line = format!("plant,sensor={tag} temp=24.25 {time}\n");
            endpoint.send(&hourglass, unit, line).await.assert_taken();
            assert_eq!(
                readings(&hourglass, &sensor).await,
                [reading("2026-05-01T10:00:00Z", json!({ "temp": 24.25 }))],
                "{sensor}"
            );
        }
    }
    assert_balanced(&hourglass).await;
}

#[tokio::test]
async fn every_precision_keeps_its_digits_down_to_microseconds() {
    let (_dir, hourglass) = started();
    for endpoint in INFLUX {
        for (unit, time, ts) in [
            ("ns", "1777629600123456789", "2026-05-01T10:00:00.123456Z"),
            ("us", "1777629600123456", "2026-05-01T10:00:00.123456Z"),
            ("ms", "1777629600123", "2026-05-01T10:00:00.123Z"),
            ("s", "1777629601", "2026-05-01T10:00:01Z"),
            ("m", "29627161", "2026-05-01T10:01:00Z"),
            ("h", "493787", "2026-05-01T11:00:00Z"),
        ] {
            let line = format!("plant,sensor={endpoint:?}{unit} temp=1 {time}");
            endpoint.send(&hourglass, unit, line).await.assert_taken();
            assert_eq!(
                readings(&hourglass, &format!("{endpoint:?}{unit}")).await,
                [reading(ts, json!({ "temp": 1.0 }))]
            );
        }
    }
}

#[tokio::test]
async fn a_line_without_a_time_gets_that_of_its_receipt() {
    let (_dir, hourglass) = started();
    for endpoint in ALL {
        let before = Timestamp::now();
        let body = format!("plant,sensor={endpoint:?} temp=1\nplant,sensor={endpoint:?} temp=2\n");
        endpoint.send(&hourglass, "", body).await.assert_taken();
        let after = Timestamp::now();
        let found = readings(&hourglass, &format!("{endpoint:?}")).await;
        assert_eq!(found.len(), 2);
        for reading in found {
            let ts: Timestamp = reading["ts"].as_str().unwrap().parse().unwrap();
            let micros = before.as_microsecond()..=after.as_microsecond() + 2;
            assert!(micros.contains(&ts.as_microsecond()), "{before} {ts}");
        }
    }
}

/// Curl says `application/x-www-form-urlencoded`, InfluxDB's client for Python
/// `application/octet-stream`.
#[tokio::test]
async fn the_content_type_is_not_looked_at() {
    let (_dir, hourglass) = started();
    for endpoint in INFLUX {
        for (second, content_type) in [
            "application/x-www-form-urlencoded",
            "application/octet-stream",
            "application/json",
            "text/csv",
            "nonsense",
            "",
        ]
        .iter()
        .enumerate()
        {
            let line = format!(
                "plant,sensor={endpoint:?} temp={second} {}",
                TEN + second as i64
            );
            let url = hourglass.url(&endpoint.path("s"));
            let request = hourglass.http().post(url).body(line);
            let request = request.header("content-type", *content_type);
            let told = Told::of(endpoint, request.send().await.unwrap()).await;
            told.assert_taken();
        }
        assert_eq!(values(&hourglass, &format!("{endpoint:?}")).await.len(), 6);
    }
}

#[tokio::test]
async fn gzip_and_zstd_bodies_are_taken() {
    let (_dir, hourglass) = started();
    let lines = |sensor: &str| -> String {
        let line = |n| format!("plant,sensor={sensor} temp={n} {}\n", TEN + n);
        (0..1000).map(line).collect()
    };
    for endpoint in INFLUX {
        let mut zstd = Vec::new();
        let text = lines(&format!("{endpoint:?}zstd"));
        let mut encoder = ZstdEncoder::new(text.as_bytes());
        encoder.read_to_end(&mut zstd).await.unwrap();
        for (encoding, body) in [
            ("gzip", gzip(&lines(&format!("{endpoint:?}gzip"))).await),
            ("zstd", zstd),
            (
                "identity",
                lines(&format!("{endpoint:?}identity")).into_bytes(),
            ),
        ] {
            let request = endpoint.request(&hourglass, "s", body);
            let request = request.header("content-encoding", encoding);
            let told = Told::of(endpoint, request.send().await.unwrap()).await;
            told.assert_taken();
            let path = format!("/v1/sensors/{endpoint:?}{encoding}/hourly");
            let (_, answer) = hourglass.get(&path).await;
            assert_eq!(answer["hours"][0]["count"], 1000, "{answer}");
        }
    }
}

#[tokio::test]
async fn parameters_that_are_not_known_are_ignored_and_the_first_of_two_counts() {
    let (_dir, hourglass) = started();
    for (n, path) in [
        "/write?precision=s",
        "/write?db=a&rp=b&consistency=any&u=me&p=secret&precision=s",
        "/write?format=json&unit=h&dry=1&%FF=%FE&db=a&db=b&precision=s&precision=nonsense",
        "/api/v2/write?precision=s",
        "/api/v2/write?org=a&orgID=b&bucket=c&bucketID=d&precision=s",
        "/api/v2/write?format=json&unit=h&db=x&&=&precision=s&precision=h",
    ]
    .iter()
    .enumerate()
    {
        let line = format!("plant,sensor=S1 temp={n} {}", TEN + n as i64);
        let request = hourglass.http().post(hourglass.url(path)).body(line);
        assert_eq!(request.send().await.unwrap().status(), 204, "{path}");
    }
    assert_eq!(values(&hourglass, "S1").await.len(), 6);
}

#[tokio::test]
async fn lines_of_text_alone_are_skipped_and_counted() {
    let (_dir, hourglass) = started();
    let skipped = "hourglass_text_fields_skipped_total";
    for (n, endpoint) in INFLUX.into_iter().enumerate() {
        let before = n as f64 * 5.0;
        assert_eq!(hourglass.metric(skipped).await, before);
        let text = "plant,sensor=T state=\"on\"\nplant,sensor=T state=\"off\",note=\"24.1\"\n";
        endpoint.send(&hourglass, "s", text).await.assert_taken();
        assert_eq!(hourglass.metric(skipped).await, before + 3.0);
        let mixed = format!(
            "plant,sensor=T state=\"on\" {TEN}\nplant,sensor={endpoint:?} temp=1,state=\"on\" {TEN}"
        );
        endpoint.send(&hourglass, "s", mixed).await.assert_taken();
        assert_eq!(hourglass.metric(skipped).await, before + 5.0);
        assert_eq!(
            values(&hourglass, &format!("{endpoint:?}")).await,
            [json!({ "temp": 1.0 })]
        );
    }
    assert!(readings(&hourglass, "T").await.is_empty());
    assert_balanced(&hourglass).await;
}

#[tokio::test]
async fn a_body_that_holds_nothing_is_taken_as_nothing() {
    let (_dir, hourglass) = started();
    for endpoint in INFLUX {
        for body in ["", "\n", " \r\n\t\n", "# a remark\n", "\u{feff}"] {
            endpoint.send(&hourglass, "", body).await.assert_taken();
        }
        let request = endpoint.request(&hourglass, "", gzip("").await);
        let request = request.header("content-encoding", "gzip");
        let told = Told::of(endpoint, request.send().await.unwrap()).await;
        told.assert_taken();
    }
    assert_eq!(
        hourglass.metric("hourglass_items_received_total").await,
        0.0
    );
}

/// What is answered 204 is durable.
#[tokio::test]
async fn what_was_taken_survives_a_kill() {
    let (dir, hourglass) = started();
    for endpoint in INFLUX {
        let line = format!("plant,sensor={endpoint:?} temp=1 {TEN}");
        endpoint.send(&hourglass, "s", line).await.assert_taken();
    }
    hourglass.kill_9();
    let hourglass = crate::support::hourglass::Start::on(dir.path()).start();
    for endpoint in INFLUX {
        let sensor = format!("{endpoint:?}");
        crate::support::eventually::eventually("it is back", async || {
            let (_, answer) = hourglass
                .get(&format!("/v1/sensors/{sensor}/readings"))
                .await;
            (answer["readings"].as_array()?.len() == 1).then_some(())
        })
        .await;
    }
}
