//! Which items are taken, and why the others are not.

use super::*;
use RejectCode::*;

fn refusal(field: &str, code: RejectCode) -> Result<Row, (Option<String>, RejectCode)> {
    Err((Some(field.to_owned()), code))
}

fn detail(item: &str) -> String {
    read_json(item).unwrap().rejections.first()[0]
        .detail
        .clone()
}

#[test]
fn values_are_numbers_and_booleans() {
    for (value, number) in [
        ("5", 5.0),
        ("-0.25", -0.25),
        ("true", 1.0),
        ("false", 0.0),
        ("9007199254740992", 9_007_199_254_740_992.0),
        ("1e300", 1e300),
    ] {
        let item = format!(r#"{{"sensorId":"S1","a": {value} }}"#);
        assert_eq!(fate(&item), Ok(row("S1", 0, &[("a", number)])), "{value}");
    }
}

#[test]
fn c06_an_integer_and_a_float_of_one_value_are_one_number() {
    let item = |value: &str| fate(&format!(r#"{{"sensorId":"S1","a":{value}}}"#));
    assert_eq!(item("5"), item("5.0"));
    assert_eq!(item("5"), item("5e0"));
}

#[test]
fn c11_values_no_double_holds_are_refused_with_their_field() {
    for (value, code) in [
        ("1e999", NotFinite),
        ("-1e999", NotFinite),
        ("1.1e300", NotFinite),
        ("9007199254740993", IntegerTooLarge),
        ("[]", NestedValue),
        ("{}", NestedValue),
        (r#"[{"b":1}]"#, NestedValue),
    ] {
        let flat = format!(r#"{{"sensorId":"S1","ok":1,"a":{value}}}"#);
        assert_eq!(fate(&flat), refusal("a", code), "{flat}");
        let nested = format!(r#"{{"measures":{{"ok":1,"a":{value}}},"sensorId":"S1"}}"#);
        assert_eq!(fate(&nested), refusal("a", code), "{nested}");
    }
}

#[test]
fn c26_text_is_skipped_and_counted_never_a_number() {
    let body = r#"[
        {"sensorId":"S1","unit":"C","temp":24.1,"raw":"24.1"},
        {"sensorId":"S1","measures":{"temp":"24.1"}},
        {"sensorId":"S1","unit":"C","temp":1e999}]"#;
    let decoded = read_json(body).unwrap();
    assert_eq!(rows(&decoded), [row("S1", 0, &[("temp", 24.1)])]);
    assert_eq!(decoded.text_fields_skipped, 3);
    assert_eq!(
        refused(&decoded),
        [
            (1, None, None, NoMeasures),
            (2, None, Some("temp"), NotFinite)
        ]
    );
    assert!(
        decoded.rejections.first()[0]
            .detail
            .contains("send numbers unquoted")
    );
}

#[test]
fn a_null_measure_is_absent_and_no_text() {
    let decoded = read_json(r#"[{"sensorId":"S1","a":null,"b":1},{"sensorId":"S1","a":null}]"#);
    let decoded = decoded.unwrap();
    assert_eq!(rows(&decoded), [row("S1", 0, &[("b", 1.0)])]);
    assert_eq!(refused(&decoded), [(1, None, None, NoMeasures)]);
    assert_eq!(decoded.text_fields_skipped, 0);
}

#[test]
fn a_sensor_is_named_by_a_legal_string() {
    for id in [
        "a|b", "a/b", "a#b", "50%", "a b", "S1", "🌡", "é", "...", "$x",
    ] {
        let item = format!(r#"{{"sensorId":"{id}","a":1}}"#);
        assert_eq!(fate(&item), Ok(row(id, 0, &[("a", 1.0)])));
    }
    assert_eq!(
        fate(r#"{"sensorId":"\ud83c\udf21\u007C\"","a":1}"#),
        Ok(row("🌡|\"", 0, &[("a", 1.0)]))
    );
    let long = format!("\"{}\"", "x".repeat(129));
    for id in [
        "\"\"",
        "\" \"",
        "\".\"",
        "\"..\"",
        &long,
        r#""a\nb""#,
        "\"\u{7f}\"",
        r#""\ud800""#,
        "17",
        "true",
        "null",
        "[]",
        "{}",
    ] {
        let item = format!(r#"{{"sensorId":{id},"a":1}}"#);
        assert_eq!(fate(&item), refusal("sensorId", InvalidSensorId), "{item}");
    }
    assert_eq!(fate(r#"{"a":1}"#), refusal("sensorId", MissingSensorId));
    assert_eq!(fate("{}"), refusal("sensorId", MissingSensorId));
    assert!(detail(r#"{"sensorId":17,"a":1}"#).contains("put it in quotes"));
}

#[test]
fn any_measure_name_is_legal_that_is_neither_blank_nor_long() {
    let names = [
        "sec",
        "a.b",
        "$x",
        "50%",
        "__proto__",
        "sensorID",
        "time",
        "é",
    ];
    let fields: Vec<String> = names.iter().map(|name| format!("\"{name}\":1")).collect();
    let fields = fields.join(",");
    let expected: Vec<(&str, f64)> = names.iter().map(|name| (*name, 1.0)).collect();
    for item in [
        format!(r#"{{"sensorId":"S1",{fields}}}"#),
        format!(r#"{{"sensorId":"S1","measures":{{{fields}}}}}"#),
    ] {
        assert_eq!(fate(&item), Ok(row("S1", 0, &expected)));
    }
    for name in ["", " ", r"a\tb", &"x".repeat(65)] {
        let item = format!(r#"{{"sensorId":"S1","{name}":1}}"#);
        assert!(
            matches!(fate(&item), Err((Some(_), InvalidMeasureName))),
            "{item}"
        );
    }
}

#[test]
fn reserved_keys_are_measures_inside_measures() {
    let item =
        r#"{"sensorId":"S1","flat":1,"measures":{"ts":2,"sensorId":3,"ageMs":4,"measures":5}}"#;
    let values = [
        ("flat", 1.0),
        ("ts", 2.0),
        ("sensorId", 3.0),
        ("ageMs", 4.0),
        ("measures", 5.0),
    ];
    assert_eq!(fate(item), Ok(row("S1", 0, &values)));
}

#[test]
fn measures_must_be_an_object() {
    for value in ["5", "\"x\"", "null", "[1]", "true"] {
        let item = format!(r#"{{"sensorId":"S1","a":1,"measures":{value}}}"#);
        assert_eq!(fate(&item), refusal("measures", NestedValue), "{item}");
    }
}

#[test]
fn a_fault_inside_measures_is_told_whatever_follows_it() {
    for (value, code) in [
        ("1e999", RejectCode::NotFinite),
        ("9007199254740993", RejectCode::IntegerTooLarge),
        ("{}", RejectCode::NestedValue),
    ] {
        for rest in ["", r#","rh":40"#, r#","rh":40,"p":"x""#] {
            let item = format!(r#"{{"sensorId":"S1","measures":{{"temp":{value}{rest}}},"n":1}}"#);
            assert_eq!(fate(&item), refusal("temp", code), "{item}");
        }
    }
    let blank = r#"{"sensorId":"S1","measures":{" ":1,"rh":40}}"#;
    assert_eq!(fate(blank), refusal(" ", RejectCode::InvalidMeasureName));
    let twice = r#"{"sensorId":"S1","measures":{"rh":1,"rh":2,"temp":3}}"#;
    assert_eq!(fate(twice), refusal("rh", RejectCode::DuplicateField));
}

#[test]
fn a_field_twice_is_refused_wherever_it_stands() {
    for (fields, field) in [
        (r#""sensorId":"S1","sensorId":"S1","a":1"#, "sensorId"),
        (
            r#""sensorId":"S1","ts":1777629600,"a":1,"ts":1777629600"#,
            "ts",
        ),
        (r#""sensorId":"S1","ageMs":1,"a":1,"ageMs":1"#, "ageMs"),
        (
            r#""sensorId":"S1","measures":{"a":1},"measures":{"b":1}"#,
            "measures",
        ),
        (r#""sensorId":"S1","a":1,"a":1"#, "a"),
        (r#""sensorId":"S1","a":1,"\u0061":2"#, "a"),
        (r#""sensorId":"S1","a":1,"a":"text""#, "a"),
        (r#""sensorId":"S1","a":null,"a":1"#, "a"),
        (r#""sensorId":"S1","measures":{"b":1,"a":1,"a":1}"#, "a"),
        (r#""sensorId":"S1","a":1,"measures":{"a":1}"#, "a"),
        (r#""sensorId":"S1","measures":{"a":1},"a":1"#, "a"),
    ] {
        let item = format!("{{{fields}}}");
        assert_eq!(fate(&item), refusal(field, DuplicateField), "{item}");
    }
    let many: Vec<String> = (0..200).map(|n| format!("\"m{n}\":1")).collect();
    let item = format!(r#"{{"sensorId":"S1",{},"m150":1}}"#, many.join(","));
    assert_eq!(fate(&item), refusal("m150", DuplicateField));
}

#[test]
fn an_item_has_256_measures_and_no_more() {
    let item = |count: usize| {
        let fields: Vec<String> = (0..count).map(|n| format!("\"m{n}\":{n}")).collect();
        format!(
            r#"{{"sensorId":"S1","text":"x","none":null,{}}}"#,
            fields.join(",")
        )
    };
    assert_eq!(fate(&item(256)).unwrap().2.len(), 256);
    assert_eq!(fate(&item(257)), refusal("m256", TooManyMeasures));
}

#[test]
fn c16_an_item_without_a_time_takes_nothing_from_the_one_before() {
    let body = r#"[
        {"sensorId":"S1","ts":1777600000,"a":1,"b":2},
        {"a":2},
        {"sensorId":"S2","a":3},
        {"sensorId":"S2","ageMs":1,"a":4},
        {"sensorId":"S3"},
        {"sensorId":"S3","a":5}]"#;
    let decoded = read_json(body).unwrap();
    assert_eq!(
        rows(&decoded),
        [
            row("S1", -29_600_000_000, &[("a", 1.0), ("b", 2.0)]),
            row("S2", 0, &[("a", 3.0)]),
            row("S2", 1 - 1_000, &[("a", 4.0)]),
            row("S3", 2, &[("a", 5.0)]),
        ]
    );
    assert_eq!(
        refused(&decoded),
        [
            (1, None, Some("sensorId"), MissingSensorId),
            (4, None, None, NoMeasures)
        ]
    );
}

#[test]
fn c17_a_device_without_a_clock_sends_an_age_or_nothing() {
    for (age, at) in [
        ("0", 0),
        ("4200", -4_200_000),
        ("0.5", -500),
        ("1e3", -1_000_000),
        ("0.0009", 0),
    ] {
        let item = format!(r#"{{"sensorId":"S1","ageMs":{age},"a":1}}"#);
        assert_eq!(fate(&item).unwrap().1, at, "{age}");
    }
    for age in ["-1", "\"4200\"", "null", "true", "[]"] {
        let item = format!(r#"{{"sensorId":"S1","ageMs":{age},"a":1}}"#);
        assert_eq!(fate(&item), refusal("ageMs", InvalidTime), "{age}");
    }
    for age in ["1777629600000", "1e30", "9223372036854775807"] {
        let item = format!(r#"{{"sensorId":"S1","ageMs":{age},"a":1}}"#);
        assert_eq!(fate(&item), refusal("ageMs", TooOld), "{age}");
    }
    for (times, field) in [
        (r#""ts":1777629600,"ageMs":1"#, "ageMs"),
        (r#""ageMs":1,"ts":1777629600"#, "ts"),
    ] {
        let item = format!(r#"{{"sensorId":"S1",{times},"a":1}}"#);
        assert_eq!(fate(&item), refusal(field, InvalidTime));
    }
}

#[test]
fn c15_c18_times_are_read_exactly_or_refused() {
    for (ts, at) in [
        ("1777629600.123456999", 123_456),
        ("1777629600123", 123_000),
        ("1777629600123456", 123_456),
        ("1777629600123456999", 123_456),
        ("\"2026-05-01T12:00:00.5+02:00\"", 500_000),
        (r#""2026-05-01T10:00:00\u005a""#, 0),
    ] {
        let item = format!(r#"{{"sensorId":"S1","ts":{ts},"a":1}}"#);
        assert_eq!(fate(&item), Ok(row("S1", at, &[("a", 1.0)])), "{ts}");
    }
    for (ts, code) in [
        ("\"1.5.2026 10:00\"", InvalidTime),
        ("\"1777629600\"", InvalidTime),
        ("\"2026-05-01T10:00:00\"", InvalidTime),
        ("null", InvalidTime),
        ("true", InvalidTime),
        ("{}", InvalidTime),
        ("-1777629600", TooOld),
        ("12", TooOld),
        ("\"1970-01-01T00:00:00Z\"", TooOld),
        ("\"9999-12-31T23:59:59Z\"", TooFarInFuture),
        ("99999999999", TooFarInFuture),
        ("1777633200", TooFarInFuture),
        ("1e30", TooFarInFuture),
    ] {
        let item = format!(r#"{{"sensorId":"S1","a":1,"ts":{ts}}}"#);
        assert_eq!(fate(&item), refusal("ts", code), "{ts}");
    }
}

#[test]
fn the_first_fault_decides() {
    let item = r#"{"temp":1e999,"sensorId":17,"ts":"x"}"#;
    assert_eq!(fate(item), refusal("temp", NotFinite));
}

#[test]
fn a_huge_field_makes_a_small_rejection() {
    let name = "é".repeat(1 << 20);
    let decoded = read_json(format!(r#"{{"sensorId":"S1","{name}":1}}"#)).unwrap();
    let rejection = &decoded.rejections.first()[0];
    assert_eq!(rejection.code, InvalidMeasureName);
    assert!(rejection.field.as_ref().unwrap().len() + rejection.detail.len() < 1_000);
    let digits = "9".repeat(1 << 20);
    assert!(detail(&format!(r#"{{"sensorId":"S1","ts":{digits},"a":1}}"#)).len() < 1_000);
    assert!(detail(&format!(r#"{{"sensorId":"S1","a":{digits}}}"#)).len() < 1_000);
}

#[test]
fn a_sensor_beyond_the_cap_costs_no_other_item_its_place() {
    let decoded = read_json(
        r#"[{"sensorId":"a","temp":1},{"sensorId":"one-too-many","temp":2},{"sensorId":"b","temp":3}]"#,
    )
    .unwrap();
    assert_eq!(decoded.batch.len(), 2);
    let refused = &decoded.rejections.first()[0];
    assert_eq!(refused.index, 1);
    assert_eq!(refused.code, RejectCode::TooManySensors);
    assert_eq!(refused.field.as_deref(), Some("sensorId"));
    assert!(
        refused.detail.contains("ingest.sensors_max"),
        "{}",
        refused.detail
    );
}

#[test]
fn a_measure_beyond_the_cap_of_its_sensor_is_named() {
    let decoded =
        read_json(r#"[{"sensorId":"a","x":1,"one-too-many":2},{"sensorId":"a","x":3}]"#).unwrap();
    assert_eq!(decoded.batch.len(), 1);
    let refused = &decoded.rejections.first()[0];
    assert_eq!(refused.index, 0);
    assert_eq!(refused.code, RejectCode::TooManyMeasures);
    assert_eq!(refused.field.as_deref(), Some("one-too-many"));
    assert!(
        refused.detail.contains("1024 measures"),
        "{}",
        refused.detail
    );
}

/// The sensor's bound, which is not that of all; what has no time is never old.
#[test]
fn what_the_sensor_no_longer_keeps_is_refused_with_the_bound() {
    let item = |rest: &str| format!(r#"{{"sensorId":"kept-from-2025","a":1{rest}}}"#);
    let other = r#"{"sensorId":"S1","a":1,"ts":"2024-12-31T23:59:59.999999Z"}"#;
    assert!(fate(other).is_ok());
    assert!(fate(&item(r#","ts":"2025-01-01T00:00:00Z""#)).is_ok());
    assert!(fate(&item("")).is_ok());
    for (time, field) in [
        (r#","ts":"2024-12-31T23:59:59.999999Z""#, "ts"),
        (r#","ts":1735689599"#, "ts"),
        (r#","ageMs":100000000000"#, "ageMs"),
    ] {
        assert_eq!(
            fate(&item(time)),
            refusal(field, OlderThanRetention),
            "{time}"
        );
        let detail = detail(&item(time));
        assert!(
            detail.contains("is before 2025-01-01T00:00:00Z, from which on"),
            "{detail}"
        );
        assert!(detail.contains("check the device's clock"), "{detail}");
    }
}

/// As far as the unit of a time can be the mistake where `min_time` is early.
#[test]
fn a_unit_that_was_likely_meant_is_told_of_what_is_not_kept() {
    let mut context = context();
    context.min_time = Micros::MIN;
    context.unit = Some(TimeUnit::Millis);
    let body = br#"[{"sensorId":"kept-from-2025","a":1,"ts":1750000000}]"#;
    let mut gate = Counted(NOW);
    let decoded = json(body, &context, &mut gate).unwrap();
    let rejection = &decoded.rejections.first()[0];
    assert_eq!(rejection.code, OlderThanRetention);
    let meant = "did you mean 2025-06-15T15:06:40Z, 1000 times that? then set unit";
    assert!(rejection.detail.contains(meant), "{}", rejection.detail);
}
