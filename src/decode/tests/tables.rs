//! CSV: headers, columns and rows.

use super::*;

/// What the parameters of a request would say.
fn columns(parameters: &[(&str, &str)]) -> CsvColumns {
    let mut columns = CsvColumns::by_name();
    for (name, value) in parameters {
        let text = || Some((*value).to_owned());
        match *name {
            "sensorId" => columns.sensor = text(),
            "ts" => columns.time = text(),
            "ageMs" => columns.age = text(),
            "tz" => columns.zone = CsvZone::new(value).unwrap(),
            "delimiter" => assert!(columns.set_delimiter(value)),
            measure => columns
                .measures
                .push((measure.to_owned(), (*value).to_owned())),
        }
    }
    columns
}

pub(super) fn read(
    parameters: &[(&str, &str)],
    body: impl AsRef<[u8]>,
) -> Result<Decoded, BodyError> {
    csv(
        body.as_ref(),
        &context(),
        &columns(parameters),
        &mut Counted(NOW),
    )
}

fn taken(parameters: &[(&str, &str)], body: &str) -> Vec<Row> {
    let decoded = read(parameters, body).unwrap();
    assert_eq!(refused(&decoded), [], "{body}: {:?}", decoded.rejections);
    rows(&decoded)
}

fn header_fault(parameters: &[(&str, &str)], body: impl AsRef<[u8]>) -> String {
    match read(parameters, body) {
        Err(BodyError::CsvHeader { reason }) => reason,
        other => panic!("{other:?}"),
    }
}

/// Line, field and code of the one row that is refused.
fn fault(parameters: &[(&str, &str)], body: &str) -> (u64, Option<String>, RejectCode) {
    let decoded = read(parameters, body).unwrap();
    let [rejection] = decoded.rejections.first() else {
        panic!("{body}: {:?}", decoded.rejections);
    };
    (
        rejection.line.unwrap(),
        rejection.field.clone(),
        rejection.code,
    )
}

const S1: (&str, &str) = ("sensorId", "S1");

#[test]
fn columns_are_known_by_their_names() {
    for header in [
        "sensorId,ts,temp",
        "sensor_id,time,temp",
        "sensor,timestamp,temp",
        "device_id,Timestamp,temp",
        " Device , TS ,\ttemp",
        "\u{feff}sensorId,ts,temp\r",
    ] {
        let body = format!("{header}\nS1,1777629600,24.5\n");
        assert_eq!(
            taken(&[], &body),
            [row("S1", 0, &[("temp", 24.5)])],
            "{header}"
        );
    }
    // The first convention wins; what is not chosen is a measure as any other.
    assert_eq!(
        taken(&[], "device,sensor,time,ts,temp\n7,S1,1,1777629600,2\n"),
        [row(
            "S1",
            0,
            &[("device", 7.0), ("time", 1.0), ("temp", 2.0)]
        )]
    );
    assert_eq!(
        taken(&[], "sensor,ageMs,a,b\nS1,1500,1,2\n"),
        [row("S1", -1_500_000, &[("a", 1.0), ("b", 2.0)])]
    );
}

#[test]
fn columns_are_what_the_parameters_say() {
    let body = "when,where,value,other\n2026-05-01 10:00:00,S1,1.5,9\n";
    let named = [("ts", "when"), ("sensorId", "where")];
    assert_eq!(
        taken(&named, body),
        [row("S1", 0, &[("value", 1.5), ("other", 9.0)])]
    );
    let one_measure = [named[0], named[1], ("temp", "value")];
    assert_eq!(taken(&one_measure, body), [row("S1", 0, &[("temp", 1.5)])]);
    // What is no column is the sensor of every row.
    let fixed = [named[0], ("sensorId", "machine 1"), ("temp", "value")];
    assert_eq!(taken(&fixed, body), [row("machine 1", 0, &[("temp", 1.5)])]);
    let aged = [("ageMs", "value"), ("sensorId", "where"), ("x", "other")];
    assert_eq!(taken(&aged, body), [row("S1", -1_500, &[("x", 9.0)])]);
}

#[test]
fn a_header_that_does_not_do_is_told_with_its_columns() {
    for (parameters, body, parts) in [
        (
            &[][..],
            "",
            &["the body is empty", "must name the columns"][..],
        ),
        (&[], "\n\r\n  \n", &["the body is empty"]),
        (
            &[],
            "a,b\n1,2",
            &["add a column sensorId", "sensorId=ID", "`a`, `b`"],
        ),
        (
            &[S1, ("ts", "when")],
            "a,b\n1,2",
            &["`ts` names the column `when`", "it has `a`, `b`"],
        ),
        (
            &[S1, ("temp", "c")],
            "a,b\n1,2",
            &["`temp` names the column `c`", "it has `a`, `b`"],
        ),
        (
            &[S1, ("ageMs", "c")],
            "a,b\n",
            &["`ageMs` names the column `c`"],
        ),
        (&[S1], "a,b, a\n1,2,3", &["the column `a` twice"]),
        (
            &[S1, ("x", "a"), ("y", "a")],
            "a\n1",
            &["`a` is named for two measures"],
        ),
        (&[], "sensor,ts\nS1,1", &["no column is a measure"]),
        (&[S1], "ts,,b\n1,2,3", &["column 2 has no name"]),
        (
            &[S1],
            "2013-12-02 21:15:00,73.9\n2013-12-02 21:20:00,74\n",
            &["column 1 is called `2013", "add a header"],
        ),
        (
            &[S1],
            "ts,73.9\n",
            &["column 2 is called `73.9`", "MEASURE=73.9"],
        ),
        (&[S1], "ts,\"a\u{1}\"\n", &["column 2 is no measure"]),
        (&[S1], "ts,\"a\n1,2\n", &["cannot be read", "is not closed"]),
        (&[("sensorId", " ")], "ts,a\n", &["is no sensor id"]),
    ] {
        let reason = header_fault(parameters, body);
        for part in parts {
            assert!(reason.contains(part), "`{part}` is not in: {reason}");
        }
    }
    assert!(header_fault(&[S1], b"ts,Stra\xdfe\n1,2").contains("not UTF-8 at its byte 7"));
    let many = header_fault(&[S1], "a,".repeat(20_000));
    assert!(many.contains("more than 10000 cells"), "{many}");
    let long: String = (0..5000).map(|n| format!("column{n},")).collect();
    assert!(header_fault(&[("ts", "x")], long).len() < 5000);
}

#[test]
fn an_unnamed_or_numbered_column_passes_where_the_measures_are_named() {
    let body = ",1,ts\n7,2.5,1777629600\n";
    assert_eq!(
        taken(&[S1, ("temp", "1")], body),
        [row("S1", 0, &[("temp", 2.5)])]
    );
}

#[test]
fn times_are_read_as_people_write_them() {
    for (parameters, time, at) in [
        (&[][..], "2026-05-01T10:00:00Z", 0),
        (&[], "2026-05-01T12:00:00.25+02:00", 250_000),
        (&[], "2026-05-01 10:00:00", 0),
        (&[], "2026-05-01T10:00:00.000001999", 1),
        (&[], "1777629600", 0),
        (&[], "1777629600001", 1000),
        (&[], "1777629600.5", 500_000),
        (&[], "1.7776296e9", 0),
        (&[("tz", "Europe/Berlin")], "2026-05-01 12:00:00", 0),
        (&[("tz", "Europe/Berlin")], "2026-05-01 10:00:00Z", 0),
        (&[("tz", "America/New_York")], "2026-05-01T06:00:00", 0),
    ] {
        let parameters = [parameters, &[S1]].concat();
        let body = format!("ts,x\n{time},1\n");
        assert_eq!(
            taken(&parameters, &body),
            [row("S1", at, &[("x", 1.0)])],
            "{time}"
        );
    }
}

#[test]
fn of_two_times_of_one_name_the_earlier_is_meant_and_a_skipped_one_is_refused() {
    let berlin = [S1, ("tz", "Europe/Berlin")];
    // 2025-10-26 03:00 CEST became 02:00 CET.
    let read = taken(&berlin, "ts,x\n2025-10-26 02:30:00,1\n");
    let earlier = parse_time(TimeText::Rfc3339("2025-10-26T00:30:00Z"), None).unwrap();
    assert_eq!(read[0].1 + NOW, earlier.get());
    // 2025-03-30 02:00 CET became 03:00 CEST.
    let body = "ts,x\n2025-03-30 02:30:00,1\n";
    let decoded = super::tables::read(&berlin, body).unwrap();
    let refused = &decoded.rejections.first()[0];
    assert_eq!(refused.code, RejectCode::InvalidTime);
    assert!(
        refused.detail.contains("the zone skip"),
        "{}",
        refused.detail
    );
    assert_eq!(taken(&[S1], body).len(), 1);
}

#[test]
fn a_time_that_is_none_is_refused_with_its_column() {
    use RejectCode::{InvalidTime, TooFarInFuture, TooOld};
    for (time, code) in [
        ("yesterday", InvalidTime),
        ("2026-05-01", InvalidTime),
        ("2026-02-30 00:00:00", InvalidTime),
        ("2026-05-01 24:00:00", InvalidTime),
        ("01.05.2026 10:00", InvalidTime),
        ("NaN", InvalidTime),
        ("-1", TooOld),
        ("12", TooOld),
        ("2127-01-01 00:00:00", TooFarInFuture),
        ("99999999999999999999999999", TooFarInFuture),
    ] {
        let body = format!("when,x\n{time},1\n");
        let expected = (2, Some("when".to_owned()), code);
        assert_eq!(fault(&[S1, ("ts", "when")], &body), expected, "{time}");
    }
    let body = "ts,ageMs,x\n1777629600,5,1\n1777629600,,2\n,5,3\n";
    assert_eq!(
        fault(&[S1], body),
        (2, Some("ageMs".to_owned()), InvalidTime)
    );
    let body = "ageMs,x\n-5,1\n";
    assert_eq!(
        fault(&[S1], body),
        (2, Some("ageMs".to_owned()), InvalidTime)
    );
}

#[test]
fn c16_a_row_without_a_time_takes_nothing_from_the_row_before() {
    let body = "sensor,ts,a,b\nS1,1777629500,1,2\nS2,,3,\n,1777629501,4,5\nS1,,,\nS1, ,6,7\n";
    let decoded = read(&[], body).unwrap();
    assert_eq!(
        rows(&decoded),
        [
            row("S1", -100_000_000, &[("a", 1.0), ("b", 2.0)]),
            row("S2", 0, &[("a", 3.0)]),
            row("S1", 1, &[("a", 6.0), ("b", 7.0)]),
        ]
    );
    assert_eq!(
        refused(&decoded),
        [
            (2, Some(4), Some("sensor"), RejectCode::MissingSensorId),
            (3, Some(5), None, RejectCode::NoMeasures),
        ]
    );
}

#[test]
fn c26_text_is_skipped_and_counted_and_never_a_number() {
    let body = "sensor,ts,temp,note\nS1,1777629600,1,ok\nS1,1777629601,n/a,5i\nS1,1777629602,2,\n";
    let decoded = read(&[], body).unwrap();
    assert_eq!(
        rows(&decoded),
        [
            row("S1", 0, &[("temp", 1.0)]),
            row("S1", 2_000_000, &[("temp", 2.0)])
        ]
    );
    assert_eq!(decoded.text_fields_skipped, 3);
    assert_eq!(
        refused(&decoded),
        [(1, Some(3), None, RejectCode::NoMeasures)]
    );
    let detail = &decoded.rejections.first()[0].detail;
    assert!(detail.contains("only text (2 skipped)"), "{detail}");
    assert!(detail.contains("decimal point"), "{detail}");
}

#[test]
fn c11_a_value_at_fault_costs_its_row_alone() {
    for (value, code) in [
        ("NaN", RejectCode::NotFinite),
        ("-inf", RejectCode::NotFinite),
        ("1e301", RejectCode::NotFinite),
        ("9007199254740993", RejectCode::IntegerTooLarge),
    ] {
        let body = format!("ts,c\n1777629600,1\n1777629601,{value}\n1777629602,3\n");
        let decoded = read(&[S1, ("temp", "c")], &body).unwrap();
        assert_eq!(
            refused(&decoded),
            [(1, Some(3), Some("c"), code)],
            "{value}"
        );
        assert_eq!(decoded.batch.len(), 2);
    }
}

#[test]
fn rows_of_another_width_are_refused_by_their_line() {
    let body = "sensor,x,y\nS1,1\nS1,1,2,3\nS1,1,2\n\nS1\nS1,\"1\nS1,3,4\n";
    let decoded = read(&[], body).unwrap();
    let expected = [
        (0, Some(2), None, RejectCode::InvalidRow),
        (1, Some(3), None, RejectCode::InvalidRow),
        (3, Some(6), None, RejectCode::InvalidRow),
        (4, Some(7), None, RejectCode::InvalidRow),
    ];
    assert_eq!(refused(&decoded), expected, "{:?}", decoded.rejections);
    let details: Vec<_> = decoded
        .rejections
        .first()
        .iter()
        .map(|r| &*r.detail)
        .collect();
    assert!(details[0].contains("2 of the 3 cells"), "{details:?}");
    assert!(details[1].contains("more than 3 cells"), "{details:?}");
    assert!(details[3].contains("is not closed"), "{details:?}");
    assert_eq!(decoded.batch.len(), 2);
}

#[test]
fn quotes_hold_delimiters_quotes_and_line_ends() {
    let body = "\"sensor\",\"note\",\"x\"\r\n\"a,b\",\"two\r\nlines, \"\"quoted\"\"\",\"1.5\"\r\n\
                \"a \"\"b\"\"\",,2\r\n\"S1\",\"\n\n\n\",3\nS1,plain \"text\",oops";
    let decoded = read(&[], body).unwrap();
    assert_eq!(
        rows(&decoded),
        [
            row("a,b", 0, &[("x", 1.5)]),
            row("a \"b\"", 1, &[("x", 2.0)]),
            row("S1", 2, &[("x", 3.0)]),
        ]
    );
    // Line 2 to 3, 4, 5 to 8, 9.
    let refused = refused(&decoded);
    assert_eq!(refused, [(3, Some(9), None, RejectCode::NoMeasures)]);
    assert_eq!(decoded.text_fields_skipped, 4);
}

#[test]
fn a_stray_quote_costs_one_line() {
    for stray in [
        "\"S1,1,a",    // never closed
        "\"S1\"x,1,a", // closed, and something follows
        "S1,\"1,a",    // closed by the quote of another row
        "\"S1,1,a\"",  // closed, of another width
        "S1,1,\"a",
    ] {
        let body = format!("sensor,x,note\nA,1,\n{stray}\nB,2,\"text\"\nC,3,\n");
        let decoded = read(&[], &body).unwrap();
        let sensors: Vec<_> = rows(&decoded).into_iter().map(|row| row.0).collect();
        assert_eq!(
            sensors,
            ["A", "B", "C"],
            "{stray}: {:?}",
            decoded.rejections
        );
        assert_eq!(
            refused(&decoded),
            [(1, Some(3), None, RejectCode::InvalidRow)],
            "{stray}"
        );
    }
    // What looks like a row of two lines is none where a time or id would span them.
    let body = "sensor,x\n\"A,1\nB\",2\nC,3\n";
    let decoded = read(&[], body).unwrap();
    assert_eq!(
        rows(&decoded),
        [row("B\"", 0, &[("x", 2.0)]), row("C", 1, &[("x", 3.0)])]
    );
}

#[test]
fn stray_quotes_without_end_do_not_cost_the_square_of_the_body() {
    // Every line opens a quote that the next one closes and opens again, and so
    // to the end, which none of them reaches.
    for line in ["x\",\"\"\"\n", "\"\n", "\"\"\"\n", "x,\"y\n", "\",\"\n"] {
        let body = format!("a,b,c\n{}", line.repeat(400_000));
        let decoded = read(&[S1], &body).unwrap();
        assert!(decoded.batch.is_empty());
    }
    let wide = "a,".repeat(9_000).replace("a,", "");
    let names: String = (0..9_000).map(|n| format!("c{n},")).collect();
    let body = format!("{names}z{wide}\n{}", "x\",\"\"\"\n".repeat(400_000));
    assert!(read(&[S1], &body).unwrap().rejections.total() > 0);
}

#[test]
fn a_row_that_is_not_utf8_costs_only_itself() {
    let mut body = b"sensor,x,note\nA,1,\nStra\xdfe,2,\nB,3,\"a\nZ,9,\n\xff\"\nC,4,\n".to_vec();
    let decoded = read(&[], &body).unwrap();
    let sensors: Vec<_> = rows(&decoded).into_iter().map(|row| row.0).collect();
    assert_eq!(sensors, ["A", "C"]);
    assert_eq!(
        refused(&decoded),
        [
            (1, Some(3), None, RejectCode::InvalidRow),
            (2, Some(4), None, RejectCode::InvalidRow),
        ]
    );
    let detail = &decoded.rejections.first()[0].detail;
    assert!(detail.contains("not UTF-8 at its byte 4"), "{detail}");
    body.push(0xc3);
    assert_eq!(read(&[], &body).unwrap().items, 5);
}

#[test]
fn other_delimiters_stand_between_cells_too() {
    for (name, delimiter) in [(";", ";"), ("\t", "\t"), ("\\t", "\t"), ("tab", "\t")] {
        let body = "sensor|ts|a|b\nS1,2|1777629600||1\n".replace('|', delimiter);
        let expected = [row("S1,2", 0, &[("b", 1.0)])];
        assert_eq!(taken(&[("delimiter", name)], &body), expected, "{name:?}");
    }
    assert!(!CsvColumns::by_name().set_delimiter("|"));
}

#[test]
fn caps_hold_for_rows_as_for_any_item() {
    let body = "sensor,x,one-too-many\none-too-many,1,\nS1,2,\nS1,3,4\n";
    let decoded = read(&[], body).unwrap();
    assert_eq!(
        refused(&decoded),
        [
            (0, Some(2), Some("sensorId"), RejectCode::TooManySensors),
            (
                2,
                Some(4),
                Some("one-too-many"),
                RejectCode::TooManyMeasures
            ),
        ]
    );
    let names: Vec<String> = (0..257).map(|n| format!("m{n}")).collect();
    let body = format!(
        "{}\n{}\n{}\n",
        names.join(","),
        "1,".repeat(256) + "1",
        ",1".repeat(256)
    );
    let expected = (2, Some("m256".to_owned()), RejectCode::TooManyMeasures);
    assert_eq!(fault(&[S1], &body), expected);
}
