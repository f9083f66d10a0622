//! C06, C11, C13, C26 by every way of writing lines: numbers are what they are,
//! and what is none costs its own line and is told.

use serde_json::json;

use super::builders::{ALL, Endpoint, TEN, assert_balanced, readings, started, values};

#[tokio::test]
async fn c06_every_form_of_a_number_is_one_number() {
    let (_dir, hourglass) = started();
    for endpoint in ALL {
        let conflicts = hourglass.metric("hourglass_values_conflict_total").await;
        for form in ["5", "5.0", "5i", "5u", "5e0", "+5", "0.5E1", "5."] {
            let line = format!("plant,sensor={endpoint:?} temp={form} {TEN}");
            endpoint.send(&hourglass, "s", line).await.assert_taken();
        }
        let line = format!("plant,sensor={endpoint:?} on=true,off=F {TEN}");
        endpoint.send(&hourglass, "s", line).await.assert_taken();
        assert_eq!(
            values(&hourglass, &format!("{endpoint:?}")).await,
            [json!({ "temp": 5.0, "on": 1.0, "off": 0.0 })]
        );
        // Another value is a conflict; the first one stays.
        let line = format!("plant,sensor={endpoint:?} temp=6 {TEN}");
        endpoint.send(&hourglass, "s", line).await.assert_taken();
        let now = hourglass.metric("hourglass_values_conflict_total").await;
        assert_eq!(now, conflicts + 1.0);
        assert_eq!(
            values(&hourglass, &format!("{endpoint:?}")).await[0]["temp"],
            5.0
        );
    }
}

#[tokio::test]
async fn c11_what_is_not_finite_costs_its_line_and_no_other() {
    let (_dir, hourglass) = started();
    for endpoint in ALL {
        for (n, infinite) in ["Inf", "-inf", "NaN", "+Infinity", "1e999", "-1e301"]
            .iter()
            .enumerate()
        {
            let sensor = format!("{endpoint:?}{n}");
            let line = |second: i64, value: &str| {
                format!(
                    "plant,sensor={sensor} temp={value},hum=1 {}\n",
                    TEN + second
                )
            };
            let body = [line(0, "1"), line(1, infinite), line(2, "2")].concat();
            let told = endpoint.send(&hourglass, "s", body).await;
            told.assert_refused(2, &[(2, "not_finite")]);
            assert_eq!(
                values(&hourglass, &sensor).await,
                [
                    json!({ "temp": 1.0, "hum": 1.0 }),
                    json!({ "temp": 2.0, "hum": 1.0 })
                ]
            );
        }
        let alone = "plant,sensor=none temp=NaN 1777629600";
        let told = endpoint.send(&hourglass, "s", alone).await;
        told.assert_refused(0, &[(1, "not_finite")]);
        assert!(readings(&hourglass, "none").await.is_empty());
    }
    assert_balanced(&hourglass).await;
}

#[tokio::test]
async fn c13_all_reasons_come_back_each_with_how_many() {
    let (_dir, hourglass) = started();
    for endpoint in ALL {
        let mut body = String::new();
        for n in 0..150 {
            let fault = match n % 3 {
                0 => "temp=NaN 1777629600",
                1 => "temp=1 1",
                _ => "temp=x 1777629600",
            };
            body += &format!("plant,sensor={endpoint:?} {fault}\n");
        }
        body += &format!("plant,sensor={endpoint:?} temp=1 {TEN}\n");
        let told = endpoint.send(&hourglass, "s", body).await;
        if endpoint == Endpoint::Readings {
            let answer = told.json();
            assert_eq!(answer["rejected"], 150);
            assert_eq!(answer["errors"].as_array().unwrap().len(), 100);
            let by_code = json!({ "not_finite": 50, "too_old": 50, "not_a_number": 50 });
            assert_eq!(answer["rejectedByCode"], by_code);
        } else {
            let message = told.error(400, "invalid");
            for part in [
                "partial write: 150 of 151 lines were refused",
                "line 1, temp (not_finite): ",
                "line 2, timestamp (too_old): ",
                "line 3, temp (not_a_number): ",
                "line 5, ",
                "; and 145 more; in all: ",
                "not_finite 50",
                "too_old 50",
                "not_a_number 50",
                " dropped=150",
            ] {
                assert!(message.contains(part), "{part}: {message}");
            }
            assert!(!message.contains("line 6"), "{message}");
            assert!(message.len() < 3000);
        }
        assert_eq!(values(&hourglass, &format!("{endpoint:?}")).await.len(), 1);
    }
}

#[tokio::test]
async fn c26_text_is_never_a_number() {
    let (_dir, hourglass) = started();
    for endpoint in ALL {
        let body = format!(
            "plant,sensor={endpoint:?} temp=\"24.1\",hum=40 {TEN}\n\
             plant,sensor={endpoint:?} temp=\"\",note=\"0\" {}\n\
             plant,sensor={endpoint:?} temp=25 {}\n",
            TEN + 1,
            TEN + 2
        );
        let told = endpoint.send(&hourglass, "s", body).await;
        match endpoint {
            Endpoint::Readings => told.assert_refused(2, &[(2, "no_measures")]),
            _ => told.assert_taken(),
        }
        let unquoted = format!("plant,sensor={endpoint:?} temp=on,hum=1 {}", TEN + 3);
        let told = endpoint.send(&hourglass, "s", unquoted).await;
        told.assert_refused(0, &[(1, "not_a_number")]);
        assert_eq!(
            values(&hourglass, &format!("{endpoint:?}")).await,
            [json!({ "hum": 40.0 }), json!({ "temp": 25.0 })]
        );
    }
    let skipped = hourglass
        .metric("hourglass_text_fields_skipped_total")
        .await;
    assert_eq!(skipped, 9.0);
}
