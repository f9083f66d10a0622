//! Fields of an item: each fault has its code, its field and its advice.

use super::answers::{expect_refused, expect_unharmed, started};

#[tokio::test]
async fn a_value_that_is_no_number_is_told_with_its_field() {
    let (_dir, hourglass) = started();
    let item = |value: &str| format!(r#"{{"sensorId":"S1","temp":{value}}}"#);
    for (value, code, field, parts) in [
        (
            "1e999",
            "not_finite",
            Some("temp"),
            &["1e999 is not a finite number", "up to 1e300", "leave out"][..],
        ),
        ("-1e999", "not_finite", Some("temp"), &["-1e999"]),
        ("1.1e300", "not_finite", Some("temp"), &["1.1e300"]),
        (
            "9007199254740993",
            "integer_too_large",
            Some("temp"),
            &["9007199254740993 is beyond 2^53", "decimal point"],
        ),
        (
            r#""24.1""#,
            "no_measures",
            None,
            &["only text (1 skipped)", "send numbers unquoted"],
        ),
        (r#""NaN""#, "no_measures", None, &["only text"]),
        ("null", "no_measures", None, &["no measure", "add a field"]),
        (
            r#"{"in":1,"out":2}"#,
            "nested_value",
            Some("temp"),
            &["must be a number", "each inner value as a field"],
        ),
        (
            "[24.1]",
            "nested_value",
            Some("temp"),
            &["must be a number"],
        ),
        ("[]", "nested_value", Some("temp"), &[]),
    ] {
        expect_refused(&hourglass, &item(value), code, field, parts).await;
        let inside = format!(r#"{{"sensorId":"S1","measures":{{"temp":{value}}}}}"#);
        expect_refused(&hourglass, &inside, code, field, parts).await;
    }
    for measures in ["[1]", "1", "true", "null", r#""a""#] {
        let item = format!(r#"{{"sensorId":"S1","measures":{measures}}}"#);
        let parts = ["measures must be an object of names and numbers"];
        expect_refused(&hourglass, &item, "nested_value", Some("measures"), &parts).await;
    }
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn a_long_literal_is_named_by_its_beginning() {
    let (_dir, hourglass) = started();
    let digits = "9".repeat(1 << 20);
    let item = format!(r#"{{"sensorId":"S1","temp":{digits}}}"#);
    let (status, answer) = hourglass.post_as("application/json", item).await;
    assert_eq!(status, 422);
    assert_eq!(answer["errors"][0]["code"], "not_finite");
    assert!(answer.to_string().len() < 1000, "{answer}");
    let name = "n".repeat(1 << 20);
    let item = format!(r#"{{"sensorId":"S1","{name}":1}}"#);
    let (status, answer) = hourglass.post_as("application/json", item).await;
    assert_eq!(status, 422);
    assert_eq!(answer["errors"][0]["code"], "invalid_measure_name");
    assert!(answer.to_string().len() < 1000, "{answer}");
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn an_item_that_is_no_object_or_has_no_sensor_is_told_so() {
    let (_dir, hourglass) = started();
    for (item, found) in [
        ("[24]", "a number"),
        ("[2.5]", "a number"),
        ("[-1]", "a number"),
        (r#"["S1"]"#, "a string"),
        ("[null]", "null"),
        ("[true]", "a boolean"),
        ("[[]]", "an array"),
    ] {
        let found = format!("the item is {found}; send an object with sensorId, ts");
        expect_refused(&hourglass, item, "not_an_object", None, &[&found]).await;
    }
    for item in ["{}", r#"{"temp":1}"#, r#"{"sensorID":"S1","temp":1}"#] {
        let parts = ["the item has no sensorId; add it"];
        expect_refused(
            &hourglass,
            item,
            "missing_sensor_id",
            Some("sensorId"),
            &parts,
        )
        .await;
    }
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn a_key_that_is_there_twice_is_refused_and_never_chosen_from() {
    let (_dir, hourglass) = started();
    for (item, field) in [
        (r#"{"sensorId":"S1","temp":1,"temp":2}"#, "temp"),
        (r#"{"sensorId":"S1","temp":1,"temp":1}"#, "temp"),
        (r#"{"sensorId":"S1","temp":1,"te\u006dp":2}"#, "temp"),
        (
            r#"{"sensorId":"S1","temp":1,"measures":{"temp":2}}"#,
            "temp",
        ),
        (r#"{"sensorId":"S1","temp":1,"temp":null}"#, "temp"),
        (r#"{"sensorId":"S1","sensorId":"S2","temp":1}"#, "sensorId"),
        (
            r#"{"sensorId":"S1","ts":1777629600,"ts":1777629601,"temp":1}"#,
            "ts",
        ),
        (r#"{"sensorId":"S1","ageMs":1,"ageMs":2,"temp":1}"#, "ageMs"),
        (
            r#"{"sensorId":"S1","measures":{"a":1},"measures":{"b":1}}"#,
            "measures",
        ),
    ] {
        let told = format!("the field {field} is in the item twice; send it once");
        expect_refused(&hourglass, item, "duplicate_field", Some(field), &[&told]).await;
    }
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn the_257th_measure_is_one_too_many() {
    let (_dir, hourglass) = started();
    let item = |measures: usize| {
        let fields: String = (0..measures).map(|n| format!(r#","m{n}":{n}"#)).collect();
        format!(r#"{{"sensorId":"S1","ts":"2026-05-01T10:00:00Z"{fields}}}"#)
    };
    let parts = ["more than 256 measures", "another item of the same ts"];
    let code = "too_many_measures";
    expect_refused(&hourglass, &item(257), code, Some("m256"), &parts).await;
    let (status, answer) = hourglass.post_as("application/json", item(256)).await;
    assert_eq!(status, 202, "{answer}");
    let (_, answer) = hourglass.get("/v1/sensors/S1/latest").await;
    let measures = answer["latest"]["measures"].as_object().unwrap();
    assert_eq!(measures.len(), 256);
    assert_eq!(measures["m255"], 255.0);
    expect_unharmed(&hourglass).await;
}
