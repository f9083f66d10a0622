//! `ts` in every form a device sends it, right and wrong.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::answers::{expect_refused, expect_unharmed, started};

#[tokio::test]
async fn a_time_that_cannot_be_read_is_told_what_is_wrong_with_it() {
    let (_dir, hourglass) = started();
    let not_rfc3339 = "is not an RFC 3339 time such as 2026-05-01T10:00:00Z";
    for (ts, part) in [
        (r#""yesterday""#, not_rfc3339),
        (r#""""#, not_rfc3339),
        (r#""2026-05-01""#, not_rfc3339),
        (r#""01/05/2026 10:00""#, not_rfc3339),
        (r#""2026-05-01T10:00Z""#, not_rfc3339),
        (r#""20260501T100000Z""#, not_rfc3339),
        (r#""2026-05-01T10:00:00.Z""#, not_rfc3339),
        (r#""2026-05-01T10:00:00Z ""#, not_rfc3339),
        (r#""+2026-05-01T10:00:00Z""#, not_rfc3339),
        (r#""٢٠٢٦-05-01T10:00:00Z""#, not_rfc3339),
        (r#""1777629600""#, "times since 1970 must be numbers"),
        (r#""2026-05-01T10:00:00""#, "has no offset from UTC; add Z"),
        (
            r#""2026-02-30T10:00:00Z""#,
            "a date or a time of day that does not exist",
        ),
        (r#""2026-05-01T24:00:00Z""#, "that does not exist"),
        (r#""2026-05-01T10:00:00+24:00""#, "that does not exist"),
        (r#""2016-12-31T23:59:60Z""#, "is a leap second"),
        ("true", "ts must be an RFC 3339 text or a number"),
        ("null", "leave it out to have the time of receipt"),
        ("[1777629600]", "ts must be an RFC 3339 text or a number"),
        (r#"{"$date":1}"#, "ts must be an RFC 3339 text or a number"),
    ] {
        let item = format!(r#"{{"sensorId":"S1","ts":{ts},"temp":1}}"#);
        expect_refused(&hourglass, &item, "invalid_time", Some("ts"), &[part]).await;
    }
    for age in ["-1", r#""5""#, "null", "true", "[]"] {
        let item = format!(r#"{{"sensorId":"S1","ageMs":{age},"temp":1}}"#);
        let parts = ["ageMs must be a number of milliseconds, 0 or more"];
        expect_refused(&hourglass, &item, "invalid_time", Some("ageMs"), &parts).await;
    }
    let both = r#"{"sensorId":"S1","ts":1777629600,"ageMs":5,"temp":1}"#;
    let parts = ["both ts and ageMs; send one"];
    expect_refused(&hourglass, both, "invalid_time", Some("ageMs"), &parts).await;
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn a_time_out_of_range_is_told_with_the_bound_and_the_likely_mistake() {
    let (_dir, hourglass) = started();
    let in_an_hour = Timestamp::now().as_second() + 3600;
    let hour_number = in_an_hour.to_string();
    let hour_text = format!("\"{}\"", Timestamp::from_second(in_an_hour).unwrap());
    let past = "before 2000-01-01T00:00:00Z (ingest.min_time)";
    let future = "(ingest.max_future beyond ";
    let clock = "check the device's clock";
    for (ts, code, parts) in [
        (
            "0",
            "too_old",
            [past, "0 read as unit=s is 1970-01-01T00:00:00Z", clock],
        ),
        ("86400", "too_old", [past, "is 1970-01-02T00:00:00Z", clock]),
        ("-1", "too_old", [past, "is 1969-12-31T23:59:59Z", clock]),
        ("-1e999", "too_old", [past, "is before the year 1", clock]),
        (
            r#""1970-01-01T00:00:00Z""#,
            "too_old",
            [past, "1970-01-01T00:00:00Z is", clock],
        ),
        (
            r#""1999-12-31T23:59:59.999999999Z""#,
            "too_old",
            [past, "1999-12-31T23:59:59.999999Z is", clock],
        ),
        (
            r#""0000-01-01T00:00:00Z""#,
            "too_old",
            [past, "\"0000-01-01T00:00:00Z\" is", clock],
        ),
        (
            "-62135596801",
            "too_old",
            [past, "is before the year 1", clock],
        ),
        (
            r#""9999-12-31T23:59:59Z""#,
            "too_far_in_future",
            [future, "9999", clock],
        ),
        (
            "99999999999",
            "too_far_in_future",
            [future, "unit=s is 5138-11-16T09:46:39Z", clock],
        ),
        (
            "1e999",
            "too_far_in_future",
            [future, "after the year 9999", clock],
        ),
        (
            &hour_number,
            "too_far_in_future",
            [future, "read as unit=s", clock],
        ),
        (
            &hour_text,
            "too_far_in_future",
            [future, hour_text.trim_matches('"'), clock],
        ),
    ] {
        let item = format!(r#"{{"sensorId":"S1","ts":{ts},"temp":1}}"#);
        expect_refused(&hourglass, &item, code, Some("ts"), &parts).await;
    }
    for (unit, ts, code, parts) in [
        (
            "ms",
            "1777629600",
            "too_old",
            [
                "1777629600 with unit=ms is 1970-01-21T13:47:09.6Z",
                "did you mean unit=s?",
            ],
        ),
        (
            "s",
            "1777629600000",
            "too_far_in_future",
            [
                "with unit=s is after the year 9999",
                "did you mean unit=ms?",
            ],
        ),
        (
            "ns",
            "1777629600000000",
            "too_old",
            ["with unit=ns", "did you mean unit=us?"],
        ),
        (
            "s",
            "9223372036854775807",
            "too_far_in_future",
            ["after the year 9999", "leave the time out"],
        ),
    ] {
        let url = hourglass.url(&format!("/v1/readings?unit={unit}"));
        let item = format!(r#"{{"sensorId":"S1","ts":{ts},"temp":1}}"#);
        let request = hourglass.http().post(url).body(item);
        let request = request.header("content-type", "application/json");
        let answer: Value = request.send().await.unwrap().json().await.unwrap();
        assert_eq!(answer["errors"][0]["code"], code, "{answer}");
        for part in parts {
            assert!(
                answer["errors"][0]["detail"]
                    .as_str()
                    .unwrap()
                    .contains(part),
                "{answer}"
            );
        }
    }
    let old = r#"{"sensorId":"S1","ageMs":1e18,"temp":1}"#;
    let parts = ["reaches back before 2000-01-01T00:00:00Z (ingest.min_time)"];
    expect_refused(&hourglass, old, "too_old", Some("ageMs"), &parts).await;
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn a_time_in_any_unit_is_cut_to_the_microsecond_and_read_back() {
    let (_dir, hourglass) = started();
    let forms = [
        ("1777629600", "2026-05-01T10:00:00Z"),
        ("1777629600.123456999", "2026-05-01T10:00:00.123456Z"),
        ("1.7776296005e9", "2026-05-01T10:00:00.5Z"),
        ("1777629600123", "2026-05-01T10:00:00.123Z"),
        ("1777629600123456", "2026-05-01T10:00:00.123456Z"),
        ("1777629600123456789", "2026-05-01T10:00:00.123456Z"),
        (
            r#""2026-05-01T10:00:00.999999999Z""#,
            "2026-05-01T10:00:00.999999Z",
        ),
        (r#""2026-05-01T12:00:00+02:00""#, "2026-05-01T10:00:00Z"),
        (r#""2026-04-30T22:30:00-11:30""#, "2026-05-01T10:00:00Z"),
        (r#""2026-05-01t10:00:00z""#, "2026-05-01T10:00:00Z"),
        (r#""2026-05-01 10:00:00Z""#, "2026-05-01T10:00:00Z"),
        ("946684800", "2000-01-01T00:00:00Z"),
    ];
    let items: Vec<String> = forms
        .iter()
        .enumerate()
        .map(|(n, (ts, _))| format!(r#"{{"sensorId":"form {n}","ts":{ts},"temp":1}}"#))
        .collect();
    let body = format!("[{}]", items.join(","));
    let (status, answer) = hourglass.post_as("application/json", body).await;
    assert_eq!(status, 202, "{answer}");
    assert_eq!(answer["accepted"], forms.len(), "{answer}");
    for (n, (ts, read)) in forms.iter().enumerate() {
        let (_, answer) = hourglass
            .get(&format!("/v1/sensors/form%20{n}/readings"))
            .await;
        assert_eq!(answer["readings"][0]["ts"], *read, "{ts}");
        assert_eq!(answer["readings"].as_array().unwrap().len(), 1, "{ts}");
    }
    let without = json!({"sensorId": "no clock", "temp": 1});
    let (before, after) = (Timestamp::now(), hourglass.post(&without).await);
    assert_eq!(after.0, 202, "{}", after.1);
    let (_, answer) = hourglass.get("/v1/sensors/no%20clock/latest").await;
    let stamp: Timestamp = answer["latest"]["ts"].as_str().unwrap().parse().unwrap();
    assert!(before.as_microsecond() <= stamp.as_microsecond() && stamp <= Timestamp::now());
    expect_unharmed(&hourglass).await;
}
