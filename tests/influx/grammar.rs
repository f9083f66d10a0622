//! C19 by every way of writing lines: backslashes, line ends and empty values
//! give what the grammar says, or a refusal.

use serde_json::json;

use super::builders::{ALL, TEN, assert_balanced, started, values};

#[tokio::test]
async fn c19_escapes_and_line_ends_are_read_exactly() {
    let (_dir, hourglass) = started();
    for endpoint in ALL {
        for (line, sensor, expected) in [
            ("m,sensor=a@ temp=1 TEN\r\n", "a", json!({"temp": 1.0})),
            ("m,sensor=b@ temp=1 TEN\r", "b", json!({"temp": 1.0})),
            (
                "\r\n\r\nm,sensor=c@ temp=1 TEN\n\r\n",
                "c",
                json!({"temp": 1.0}),
            ),
            ("m,sensor=d\\ e@ temp=1 TEN", "d e", json!({"temp": 1.0})),
            ("m,sensor=f\\,g@ temp=1 TEN", "f,g", json!({"temp": 1.0})),
            ("m,sensor=h\\=i@ temp=1 TEN", "h=i", json!({"temp": 1.0})),
            ("m,sensor=j\\k@ temp=1 TEN", "j\\k", json!({"temp": 1.0})),
            ("m,sensor=l@ te\\ mp=1 TEN", "l", json!({"te mp": 1.0})),
            (
                "m,sensor=n@ s=\"a \\\" b, c=2 d\\\\\",temp=1 TEN",
                "n",
                json!({"temp": 1.0}),
            ),
            (
                "m,sensor=o@ s=\"line\nend\",temp=1 TEN",
                "o",
                json!({"temp": 1.0}),
            ),
            ("m\\ x,sensor=p@ temp=1 TEN", "p", json!({"temp": 1.0})),
            ("   m,sensor=q@   temp=1   TEN  ", "q", json!({"temp": 1.0})),
        ] {
            let sensor = format!("{sensor}{endpoint:?}");
            let line = line.replace('@', &format!("{endpoint:?}"));
            let line = line.replace("TEN", &TEN.to_string());
            let told = endpoint.send(&hourglass, "s", line.clone()).await;
            told.assert_taken();
            assert_eq!(values(&hourglass, &sensor).await, [expected], "{line:?}");
        }
    }
    assert_balanced(&hourglass).await;
}

#[tokio::test]
async fn c19_what_breaks_the_grammar_costs_its_line_and_no_other() {
    let (_dir, hourglass) = started();
    for endpoint in ALL {
        for (n, (line, code)) in [
            ("m,sensor=x temp=", "invalid_line"),
            ("m,sensor=x temp=,hum=1", "invalid_line"),
            ("m,sensor=x temp", "invalid_line"),
            ("m,sensor=x", "invalid_line"),
            ("m,sensor=x ", "invalid_line"),
            ("m,sensor=x\\ ", "invalid_line"),
            ("m,sensor=x\\", "invalid_line"),
            ("m,sensor=x temp=1\\", "not_a_number"),
            ("m,sensor= temp=1", "invalid_line"),
            ("m,sensor temp=1", "invalid_line"),
            (",sensor=x temp=1", "invalid_line"),
            ("m,sensor=x =1", "invalid_line"),
            ("m,sensor=x temp=1,", "invalid_line"),
            ("m,sensor=x temp=1 1777629600 2", "invalid_line"),
            ("m,sensor=x temp=\"a\"b", "invalid_line"),
            ("m,sensor=x temp=1\rhum=2", "not_a_number"),
            ("m,sensor=x,sensor=y temp=1", "duplicate_field"),
            ("m,sensor=x temp=1,temp=1", "duplicate_field"),
        ]
        .into_iter()
        .enumerate()
        {
            let sensor = format!("{endpoint:?}{n}");
            let good = |second: i64| format!("m,sensor={sensor} temp={second} {}\n", TEN + second);
            let body = format!("{}{line}\n{}", good(1), good(2));
            let told = endpoint.send(&hourglass, "s", body).await;
            told.assert_refused(2, &[(2, code)]);
            assert_eq!(
                values(&hourglass, &sensor).await,
                [json!({ "temp": 1.0 }), json!({ "temp": 2.0 })],
                "{line:?}"
            );
        }
    }
    assert!(values(&hourglass, "x").await.is_empty());
    assert_balanced(&hourglass).await;
}
