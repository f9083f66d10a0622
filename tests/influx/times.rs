//! C12, C15, C16 by every way of writing lines: a time is read exactly, or its
//! line is refused with the bound and what was probably meant.

use jiff::Timestamp;
use serde_json::json;

use super::builders::{ALL, Endpoint, INFLUX, TEN, readings, started, values};

#[tokio::test]
async fn c12_a_time_in_another_unit_is_told_with_the_one_that_was_meant() {
    let (_dir, hourglass) = started();
    for endpoint in ALL {
        let parameter = match endpoint {
            Endpoint::Readings => "unit",
            _ => "precision",
        };
        for (unit, time, code, meant) in [
            ("ns", TEN, "too_old", "s"),
            ("ns", TEN * 1_000, "too_old", "ms"),
            ("ns", TEN * 1_000_000, "too_old", "us"),
            ("s", TEN * 1_000, "too_far_in_future", "ms"),
            ("s", TEN * 1_000_000_000, "too_far_in_future", "ns"),
            ("ms", TEN, "too_old", "s"),
            ("m", TEN, "too_far_in_future", "s"),
        ] {
            let body = format!(
                "plant,sensor={endpoint:?} temp=1\nplant,sensor={endpoint:?} temp=2 {time}\n"
            );
            let told = endpoint.send(&hourglass, unit, body).await;
            told.assert_refused(1, &[(2, code)]);
            for part in [
                format!("{time} with {parameter}={unit} is "),
                format!("did you mean {parameter}={meant}?"),
                match code {
                    "too_old" => "ingest.min_time".to_owned(),
                    _ => "ingest.max_future".to_owned(),
                },
            ] {
                assert!(told.text.contains(&part), "{part}: {told:?}");
            }
        }
    }
    // The most frequent mistake: no precision at all.
    for endpoint in INFLUX {
        let line = format!("plant,sensor=S1 temp=1 {TEN}");
        let told = endpoint.send(&hourglass, "", line).await;
        told.assert_refused(0, &[(1, "too_old")]);
        assert!(told.text.contains("did you mean precision=s?"), "{told:?}");
    }
    assert!(readings(&hourglass, "S1").await.is_empty());
}

#[tokio::test]
async fn c15_a_time_beyond_its_unit_is_refused_and_never_another_date() {
    let (_dir, hourglass) = started();
    for endpoint in ALL {
        for (unit, time, code) in [
            ("s", "9223372036854775807", "too_far_in_future"),
            ("ms", "9223372036854775807", "too_far_in_future"),
            ("us", "9223372036854775807", "too_far_in_future"),
            ("m", "9223372036854775807", "too_far_in_future"),
            ("h", "9223372036854775807", "too_far_in_future"),
            ("ns", "9223372036854775808", "too_far_in_future"),
            ("ns", "18446744073709551616", "too_far_in_future"),
            ("ns", "-9223372036854775809", "too_old"),
            ("s", "-9223372036854775808", "too_old"),
            ("s", "18446744075487180", "too_far_in_future"),
            ("h", "-5124095576030431", "too_old"),
            ("ns", "1777629600.5", "invalid_time"),
            ("ns", "1e18", "invalid_time"),
            ("ns", "2026-05-01T10:00:00Z", "invalid_time"),
        ] {
            let body = format!("plant,sensor=S1 temp=1 {time}\n");
            let told = endpoint.send(&hourglass, unit, body).await;
            told.assert_refused(0, &[(1, code)]);
        }
    }
    assert!(readings(&hourglass, "S1").await.is_empty());
}

#[tokio::test]
async fn c16_a_line_takes_nothing_from_the_line_before() {
    let (_dir, hourglass) = started();
    for endpoint in ALL {
        let before = Timestamp::now().as_microsecond();
        let body = format!(
            "plant,sensor={endpoint:?} temp=1,hum=1 {TEN}\n\
             plant,sensor={endpoint:?} temp=2\n\
             plant,sensor={endpoint:?} temp=3 nonsense\n\
             plant,sensor={endpoint:?} temp=4 {}\n\
             plant,sensor=other\\ {endpoint:?} temp=5\n",
            TEN + 1
        );
        let told = endpoint.send(&hourglass, "s", body).await;
        told.assert_refused(4, &[(3, "invalid_time")]);
        let found = readings(&hourglass, &format!("{endpoint:?}")).await;
        let temps: Vec<_> = found.iter().map(|r| &r["measures"]["temp"]).collect();
        assert_eq!(temps, [1.0, 4.0, 2.0]);
        assert_eq!(found[2]["measures"], json!({ "temp": 2.0 }));
        let ts: Timestamp = found[2]["ts"].as_str().unwrap().parse().unwrap();
        let now = Timestamp::now().as_microsecond();
        assert!((before..=now + 10).contains(&ts.as_microsecond()));
        let other = values(&hourglass, &format!("other {endpoint:?}")).await;
        assert_eq!(other, [json!({ "temp": 5.0 })]);
    }
}
