//! Which bodies are taken, and what a refused one says.

use super::*;

#[test]
fn an_object_an_array_and_wrapped_readings_are_the_same() {
    let one = r#"{"sensorId":"S1","ts":"2026-05-01T10:00:00Z","temp":24.1}"#;
    let expected = [row("S1", 0, &[("temp", 24.1)])];
    for body in [
        one.to_owned(),
        format!("[{one}]"),
        format!("\u{feff} \r\n\t[ {one} ]\n"),
        format!(r#"{{"readings":[{one}]}}"#),
        format!(r#"{{"read\u0069ngs": [{one}] }}"#),
        r#"{"sensorId":"S1","ts":1777629600,"measures":{"temp":24.1}}"#.to_owned(),
    ] {
        let decoded = read_json(&body).unwrap();
        assert_eq!(rows(&decoded), expected, "{body}");
        assert_eq!((decoded.items, decoded.rejections.total()), (1, 0));
    }
}

#[test]
fn no_items_are_fine() {
    for body in ["[]", " [ ] ", r#"{"readings":[]}"#] {
        let decoded = read_json(body).unwrap();
        assert_eq!((decoded.items, decoded.batch.len()), (0, 0), "{body}");
    }
}

#[test]
fn readings_with_a_number_is_a_measure() {
    assert_eq!(
        fate(r#"{"sensorId":"S1","readings":5}"#),
        Ok(row("S1", 0, &[("readings", 5.0)]))
    );
}

#[test]
fn an_empty_body_is_told_from_an_empty_array() {
    for body in ["", " \r\n", "\u{feff}"] {
        assert_eq!(read_json(body).unwrap_err(), BodyError::Empty);
    }
}

#[test]
fn a_body_that_is_not_json_is_refused_whole_with_the_byte() {
    for (body, at) in [
        ("hello", 0),
        ("{", 1),
        (r#"[{"sensorId":"S1","temp":NaN}]"#, 25),
        (r#"[{"sensorId":"S1","temp":Infinity}]"#, 25),
        (r#"[{"sensorId":"S1","temp":-Infinity}]"#, 26),
        (r#"{"sensorId":"S1","temp":24.1"#, 28),
        ("[{\"sensorId\":\"S1\",\n\"temp\":1},\n{\"é\":x}]", 36),
        (r#"{"readings":[{"a":1},]}"#, 21),
        ("[1] 2", 4),
        ("[1,]", 3),
        ("[{} {}]", 4),
        ("[{'a':1}]", 2),
        ("[01]", 2),
        ("[1.]", 3),
        ("[+1]", 1),
        // Inside a string the library stops one byte short of the fault.
        ("[\"\n\"]", 1),
    ] {
        match read_json(body).unwrap_err() {
            BodyError::InvalidJson { byte, reason } => {
                assert_eq!(byte, at, "{body}: {reason}");
                assert!(!reason.contains("line"), "{reason}");
            }
            other => panic!("{body}: {other}"),
        }
    }
}

#[test]
fn json_cut_anywhere_is_refused_and_never_half_taken() {
    let body =
        r#"[{"sensorId":"S1","ts":1777629600,"temp":24.1},{"sensorId":"S2","measures":{"a":1}}]"#;
    for cut in 1..body.len() {
        let error = read_json(&body[..cut]).unwrap_err();
        assert!(
            matches!(error, BodyError::InvalidJson { byte, .. } if byte == cut || byte + 1 == cut),
            "{cut}: {error}"
        );
    }
}

#[test]
fn a_body_that_is_not_utf_8_is_refused_with_the_byte() {
    let error = read_json(b"{\"sensorId\":\"\xff\"}").unwrap_err();
    assert_eq!(error, BodyError::NotUtf8 { byte: 13 });
}

#[test]
fn json_of_another_shape_is_refused_by_what_it_is() {
    for (body, says) in [
        ("42", "a number"),
        ("-1e999", "a number"),
        ("\"S1\"", "a string"),
        ("true", "a boolean"),
        ("null", "null"),
        (
            r#"{"sensorId":"S1","readings":[]}"#,
            "an object with \"sensorId\" beside \"readings\"",
        ),
        (
            r#"{"readings":[],"readings":[]}"#,
            "an object with \"readings\" beside \"readings\"",
        ),
    ] {
        let body = format!(" {body}");
        let expected = BodyError::WrongShape {
            byte: 1,
            found: says.to_owned(),
        };
        assert_eq!(read_json(&body).unwrap_err(), expected, "{body}");
    }
}

#[test]
fn c11_one_bad_item_costs_none_of_its_neighbours() {
    let good = |at: usize| format!(r#"{{"sensorId":"S{}","temp":{at}}}"#, at % 7);
    for bad in [
        r#"{"sensorId":"S1","temp":1e999}"#,
        "17",
        "1e999",
        "null",
        "[[[]]]",
        r#""\ud800""#,
        r#"{"sensorId":"S1","\ud800":1}"#,
        r#"{"sensorId":"\ud800","temp":1}"#,
        r#"{"sensorId":"S1","measures":{"\ud800":1}}"#,
        r#"{"sensorId":"S1","temp":{"deep":[{"er":1}]},"b":[1,2]}"#,
    ] {
        let mut items: Vec<String> = (0..10_000).map(good).collect();
        items[5_000] = bad.to_owned();
        let decoded = read_json(format!("[{}]", items.join(","))).unwrap();
        assert_eq!(
            (decoded.items, decoded.batch.len()),
            (10_000, 9_999),
            "{bad}"
        );
        assert_eq!(decoded.rejections.first().len(), 1);
        assert_eq!(decoded.rejections.first()[0].index, 5_000);
        assert_eq!(rows(&decoded)[5_000].2, [("temp".to_owned(), 5_001.0)]);
    }
}

#[test]
fn an_item_nested_without_end_is_refused_without_a_panic() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let decoded = read_json(format!("[{deep}]")).unwrap();
    assert_eq!(
        refused(&decoded),
        [(0, None, None, RejectCode::NotAnObject)]
    );
    let field = format!(r#"{{"sensorId":"S1","a":{deep}}}"#);
    assert_eq!(
        fate(&field),
        Err((Some("a".to_owned()), RejectCode::NestedValue))
    );
    assert!(read_json("[".repeat(100_000)).is_err());
    assert!(read_json("{\"a\":".repeat(100_000)).is_err());
}

#[test]
fn c19_lines_are_refused_one_by_one() {
    let body = b"\xef\xbb\xbf{\"sensorId\":\"S1\",\"a\":1}\r\n\
        \r\n\
        {\"sensorId\":\"S1\",\"a\":NaN}\n\
        {\"sensorId\":\"S1\",\"a\":2}{}\n\
        \t \n\
        [1]\n\
        {\"sensorId\":\"\xff\",\"a\":2}\n\
        nonsense\\\n\
        {\"sensorId\":\"S1\",\"a\":1e999}\n\
        {\"sensorId\":\"S2\",\"a\":3}";
    let decoded = read_ndjson(body);
    assert_eq!(
        rows(&decoded),
        [row("S1", 0, &[("a", 1.0)]), row("S2", 1, &[("a", 3.0)])]
    );
    assert_eq!(decoded.items, 8);
    assert_eq!(
        refused(&decoded),
        [
            (1, Some(3), None, RejectCode::InvalidJson),
            (2, Some(4), None, RejectCode::InvalidJson),
            (3, Some(6), None, RejectCode::NotAnObject),
            (4, Some(7), None, RejectCode::InvalidJson),
            (5, Some(8), None, RejectCode::InvalidJson),
            (6, Some(9), Some("a"), RejectCode::NotFinite),
        ]
    );
    let details: Vec<_> = decoded
        .rejections
        .first()
        .iter()
        .map(|r| &*r.detail)
        .collect();
    assert!(
        details[0].starts_with("the line is not JSON at its byte 21: "),
        "{details:?}"
    );
    assert!(details[3].starts_with("the line is not JSON at its byte 13: not UTF-8"));
}

#[test]
fn lines_without_items_are_none() {
    for body in ["", "\n", "\r\n\r\n", " \n\t"] {
        let decoded = read_ndjson(body);
        assert_eq!(
            (decoded.items, decoded.rejections.total()),
            (0, 0),
            "{body:?}"
        );
    }
}
