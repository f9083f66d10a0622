//! Line protocol: the grammar line by line.

use super::*;

fn read(body: impl AsRef<[u8]>) -> Decoded {
    read_lines(body, None)
}

/// The one reading of a line that is taken.
fn taken(line: &str) -> Row {
    let decoded = read(line);
    assert_eq!(refused(&decoded), [], "{line}: {:?}", decoded.rejections);
    assert_eq!((decoded.items, decoded.batch.len()), (1, 1), "{line}");
    rows(&decoded).remove(0)
}

/// Field and code of the one line that is refused.
fn fault(line: &str) -> (Option<String>, RejectCode) {
    let decoded = read(line);
    assert_eq!(decoded.items, 1, "{line}");
    assert!(decoded.batch.is_empty() && decoded.batch.sensors().is_empty());
    assert!(decoded.batch.origins().is_empty(), "{line}");
    let [rejection] = decoded.rejections.first() else {
        panic!("{line}: {:?}", decoded.rejections);
    };
    assert!(!rejection.detail.is_empty());
    (rejection.field.clone(), rejection.code)
}

fn attributes(line: &str) -> (String, Vec<(String, String)>) {
    let decoded = read(line);
    let reading = decoded.batch.readings().next().unwrap();
    let origin = reading.origin().unwrap();
    let tags = origin.tags().map(|(k, v)| (k.to_owned(), v.to_owned()));
    (origin.measurement().to_owned(), tags.collect())
}

#[test]
fn a_line_is_a_reading() {
    assert_eq!(
        taken("weather,sensor=S1,room=4b temp=24.1,hum=51i,on=t 1777629600000000000"),
        row("S1", 0, &[("temp", 24.1), ("hum", 51.0), ("on", 1.0)])
    );
    assert_eq!(
        attributes("weather,sensor=S1,room=4b,floor=2 temp=1"),
        (
            "weather".to_owned(),
            vec![("floor".into(), "2".into()), ("room".into(), "4b".into())]
        )
    );
}

#[test]
fn escapes_stand_for_what_they_escape() {
    for (line, sensor, measure) in [
        (r"m,sensor=a\ b x=1", "a b", "x"),
        (r"m,sensor=a\,b x=1", "a,b", "x"),
        (r"m,sensor=a\=b x=1", "a=b", "x"),
        (r"m,sensor=a\b x=1", r"a\b", "x"),
        (r"m,sensor=a\\b x=1", r"a\\b", "x"),
        (r#"m,sensor="a" x=1"#, r#""a""#, "x"),
        (r"m,sensor=S x\ y=1", "S", "x y"),
        (r"m,sensor=S x\,y\=z=1", "S", "x,y=z"),
        (r"m,sens\or=S x=1", r"m,sens\or=S", "x"),
        ("m,sensor=é x°=1", "é", "x°"),
        (r"c\ p\,u,host=a x=1", r"c\ p\,u,host=a", "x"),
        (r"c\=p host=1", r"c\=p", "host"),
        ("c=p host=1", "c=p", "host"),
    ] {
        assert_eq!(taken(line), row(sensor, 0, &[(measure, 1.0)]), "{line}");
    }
}

#[test]
fn without_a_tag_for_the_sensor_the_series_key_is_its_id() {
    for (line, sensor) in [
        ("cpu value=1", "cpu"),
        ("cpu,host=h,core=0 value=1", "cpu,core=0,host=h"),
        ("cpu,core=0,host=h value=1", "cpu,core=0,host=h"),
    ] {
        assert_eq!(taken(line), row(sensor, 0, &[("value", 1.0)]));
    }
}

#[test]
fn c19_line_ends_and_blanks_of_every_kind() {
    let body = "\u{feff}# a comment\r\n\r\n  \t\nm,sensor=A x=1\r\n # another\n\
                 \tm,sensor=B x=2  \r\nm,sensor=C x=3 1777629600000000000 \nm,sensor=D x=4\r";
    let decoded = read(body);
    assert_eq!(refused(&decoded), []);
    let read: Vec<_> = rows(&decoded)
        .into_iter()
        .map(|row| (row.0, row.2[0].1))
        .collect();
    let expected = [("A", 1.0), ("B", 2.0), ("C", 3.0), ("D", 4.0)];
    assert_eq!(read, expected.map(|(id, value)| (id.to_owned(), value)));
    for empty in ["", "\n", "\r\n", "#", "#\n\n", "  "] {
        assert_eq!((super::read_lines(empty, None)).items, 0, "{empty:?}");
    }
}

#[test]
fn c19_a_line_at_fault_is_told_and_panics_nothing() {
    use RejectCode::{
        DuplicateField, IntegerTooLarge, InvalidLine, InvalidSensorId, InvalidTime, NoMeasures,
        NotANumber, NotFinite,
    };
    for (line, field, code) in [
        ("m", None, InvalidLine),
        ("m ", None, InvalidLine),
        ("m,sensor=S", None, InvalidLine),
        (r"m,sensor=S\ x=1", None, InvalidLine),
        ("m,sensor=S\\", None, InvalidLine),
        (",sensor=S x=1", None, InvalidLine),
        ("m, x=1", Some(""), InvalidLine),
        ("m,sensor x=1", Some("sensor"), InvalidLine),
        ("m,sensor= x=1", Some("sensor"), InvalidLine),
        ("m,=S x=1", Some(""), InvalidLine),
        ("m,sensor=S=T x=1", Some("sensor"), InvalidLine),
        ("m,sensor=S,sensor=T x=1", Some("sensor"), DuplicateField),
        ("m,sensor=S x=1,x=1", Some("x"), DuplicateField),
        ("m,sensor=S x=1,x=\"a\"", Some("x"), DuplicateField),
        ("m,sensor=S x", Some("x"), InvalidLine),
        ("m,sensor=S =1", None, InvalidLine),
        ("m,sensor=S x=", Some("x"), InvalidLine),
        ("m,sensor=S x=,y=1", Some("x"), InvalidLine),
        ("m,sensor=S x= 1", Some("x"), InvalidLine),
        ("m,sensor=S x=1,", Some(""), InvalidLine),
        ("m,sensor=S x=1,,y=2", Some(""), InvalidLine),
        ("m,sensor=S x=\"a", Some("x"), InvalidLine),
        (r#"m,sensor=S x="a\""#, Some("x"), InvalidLine),
        (r#"m,sensor=S x="a"b"#, None, InvalidLine),
        ("m,sensor=S x=a", Some("x"), NotANumber),
        ("m,sensor=S x=1 2 3", None, InvalidLine),
        ("m,sensor=S x=1 1.5", Some("timestamp"), InvalidTime),
        ("m,sensor=S x=1 -", Some("timestamp"), InvalidTime),
        ("m,sensor=S x=1 now", Some("timestamp"), InvalidTime),
        ("m,sensor=S x=NaN", Some("x"), NotFinite),
        ("m,sensor=S x=9007199254740993i", Some("x"), IntegerTooLarge),
        ("m,sensor=S x=\"1\"", None, NoMeasures),
        ("m,sensor=a\u{7f} x=1", Some("sensor"), InvalidSensorId),
        ("m,sensor=. x=1", Some("sensor"), InvalidSensorId),
    ] {
        let field = field.map(str::to_owned);
        assert_eq!(fault(line), (field.clone(), code), "{line}");
        // Among neighbours it costs neither its place.
        let body = format!("a,sensor=A x=1\n{line}\nb,sensor=B x=2\n");
        let decoded = read(&body);
        let read: Vec<_> = rows(&decoded).into_iter().map(|row| row.0).collect();
        assert_eq!(read, ["A", "B"], "{line}: {:?}", decoded.rejections);
        assert_eq!(refused(&decoded), [(1, Some(2), field.as_deref(), code)]);
    }
}

#[test]
fn text_may_hold_line_ends_commas_and_quotes() {
    let body = "m,sensor=A s=\"a, b=\\\"1\\\"\nx y=2 3\\\\\",x=1\nm,sensor=B x=oops\n";
    let decoded = read(body);
    assert_eq!(rows(&decoded), [row("A", 0, &[("x", 1.0)])]);
    assert_eq!(decoded.text_fields_skipped, 1);
    let expected = (1, Some(3), Some("x"), RejectCode::NotANumber);
    assert_eq!(refused(&decoded), [expected]);
    // A fault behind a text of several lines does not read the text as lines.
    let decoded = read("m,sensor=A s=\"a\nm,sensor=Z x=1\n\",x=oops\nm,sensor=B x=2\n");
    assert_eq!(rows(&decoded), [row("B", 0, &[("x", 2.0)])]);
    assert_eq!(decoded.items, 2);
}

#[test]
fn a_stray_quote_swallows_no_other_line() {
    let body = "m,sensor=A x=\"open\nm,sensor=B x=2\nm,sensor=C s=\"text\",x=3\nm,sensor=D x=4";
    let decoded = read(body);
    let read: Vec<_> = rows(&decoded).into_iter().map(|row| row.0).collect();
    assert_eq!(read, ["B", "C", "D"]);
    assert_eq!(
        refused(&decoded),
        [(0, Some(1), None, RejectCode::InvalidLine)]
    );
}

#[test]
fn times_are_read_in_the_unit_or_by_magnitude() {
    for (time, unit, at) in [
        ("1777629600000000000", None, 0),
        ("1777629600000001999", None, 1),
        ("1777629600000001", None, 1),
        ("1777629600001", None, 1000),
        ("1777629601", None, 1_000_000),
        ("1777629600000001999", Some("ns"), 1),
        ("1777629600000001", Some("us"), 1),
        ("1777629600001", Some("ms"), 1000),
        ("1777629601", Some("s"), 1_000_000),
        ("29627159", Some("m"), -60_000_000),
        ("493785", Some("h"), -3_600_000_000),
    ] {
        let unit = unit.map(|unit| TimeUnit::parse(unit).unwrap());
        let decoded = read_lines(format!("m,sensor=S x=1 {time}"), unit);
        let expected = row("S", at, &[("x", 1.0)]);
        assert_eq!(
            rows(&decoded),
            [expected],
            "{time} {:?}",
            decoded.rejections
        );
    }
}

#[test]
fn c12_a_time_out_of_range_names_the_likely_unit() {
    for (time, unit, code, parts) in [
        (
            "1777629600",
            "ns",
            RejectCode::TooOld,
            ["1970-01-01T00:00:01.777629Z", "did you mean unit=s?"],
        ),
        (
            "1777629600000",
            "s",
            RejectCode::TooFarInFuture,
            ["after the year 9999", "did you mean unit=ms?"],
        ),
        (
            "-1",
            "ns",
            RejectCode::TooOld,
            ["1969-12-31T23:59:59.999999Z", "ingest.min_time"],
        ),
    ] {
        let decoded = read_lines(format!("m,sensor=S x=1 {time}"), TimeUnit::parse(unit));
        let rejection = &decoded.rejections.first()[0];
        assert_eq!((rejection.code, rejection.line), (code, Some(1)));
        assert_eq!(rejection.field.as_deref(), Some("timestamp"));
        for part in parts {
            assert!(rejection.detail.contains(part), "{}", rejection.detail);
        }
    }
}

#[test]
fn c15_an_overflow_is_refused_and_never_another_date() {
    for unit in TimeUnit::ALL {
        for time in [
            "9223372036854775807",
            "-9223372036854775808",
            "9223372036854775808",
            "99999999999999999999999999",
        ] {
            let decoded = read_lines(format!("m,sensor=S x=1 {time}"), Some(unit));
            assert!(decoded.batch.is_empty(), "{time} {unit:?}");
            assert_eq!(decoded.rejections.total(), 1);
        }
    }
}

#[test]
fn c16_a_line_without_a_time_takes_nothing_from_the_line_before() {
    let decoded = read("m,sensor=A x=1 1777629500000000000\nm,sensor=A x=2\nm,sensor=A y=3\n");
    assert_eq!(
        rows(&decoded),
        [
            row("A", -100_000_000, &[("x", 1.0)]),
            row("A", 0, &[("x", 2.0)]),
            row("A", 1, &[("y", 3.0)]),
        ]
    );
}

#[test]
fn c26_text_is_never_a_number() {
    let decoded = read("m,sensor=A x=\"12\",y=3\nm,sensor=A x=\"0\"\n");
    assert_eq!(rows(&decoded), [row("A", 0, &[("y", 3.0)])]);
    assert_eq!(decoded.text_fields_skipped, 2);
    assert_eq!(decoded.rejections.count(RejectCode::NoMeasures), 1);
}

#[test]
fn lines_of_text_alone_may_be_skipped() {
    let mapping = LineMapping::default();
    let options = LineOptions {
        mapping: &mapping,
        text_only: TextOnly::Skip,
    };
    let body = b"m,sensor=A s=\"a\",t=\"b\"\nm,sensor=A x=1\nm,sensor=A s=\"a\" nonsense\n";
    let decoded = line_protocol(body, &context(), options, &mut Counted(NOW));
    assert_eq!((decoded.items, decoded.batch.len()), (2, 1));
    assert_eq!(decoded.text_fields_skipped, 2);
    assert_eq!(decoded.rejections.count(RejectCode::InvalidTime), 1);
}

#[test]
fn bytes_that_are_no_text_cost_their_line_only() {
    let body = b"m,sensor=A x=1\nm,sensor=\xff x=2\nm,sensor=B x=3\n\xff\xff\nm,sensor=C x=4";
    let decoded = read(body);
    let read: Vec<_> = rows(&decoded).into_iter().map(|row| row.0).collect();
    assert_eq!(read, ["A", "B", "C"]);
    let refused: Vec<_> = refused(&decoded).iter().map(|r| (r.1, r.3)).collect();
    let code = RejectCode::InvalidLine;
    assert_eq!(refused, [(Some(2), code), (Some(4), code)]);
}

#[test]
fn measures_may_be_named_after_the_measurement() {
    let mapping = LineMapping {
        measurement_prefix: true,
        ..LineMapping::default()
    };
    let options = LineOptions {
        mapping: &mapping,
        text_only: TextOnly::Refuse,
    };
    let body = b"te\\,mp,sensor=A value=1\nhum,sensor=A value=2\nte\\,mp,sensor=A value=3\n";
    let decoded = line_protocol(body, &context(), options, &mut Counted(NOW));
    assert_eq!(
        rows(&decoded),
        [
            row("A", 0, &[("te,mp_value", 1.0)]),
            row("A", 1, &[("hum_value", 2.0)]),
            row("A", 2, &[("te,mp_value", 3.0)]),
        ]
    );
}

#[test]
fn series_are_interned_once_however_often_they_come() {
    let line = |n: usize| format!("m,sensor=S{},room=r x={n}\n", n % 3);
    let decoded = read((0..30).map(line).collect::<String>());
    assert_eq!(decoded.batch.sensors().len(), 3);
    assert_eq!(decoded.batch.origins().len(), 3);
    assert_eq!(decoded.batch.len(), 30);
    for reading in decoded.batch.readings() {
        assert_eq!(reading.origin_index(), Some(reading.sensor_index()));
    }
}

#[test]
fn tags_beyond_the_bounds_are_left_out_and_the_reading_is_taken() {
    let tags: String = (0..70).map(|n| format!(",t{n}=v")).collect();
    let decoded = read(format!("m,sensor=S{tags} x=1"));
    assert_eq!((decoded.batch.len(), decoded.tags_left_out), (1, 6));
}

#[test]
fn new_sensors_and_measures_pass_the_gate() {
    let decoded = read("m,sensor=one-too-many x=1\nm,sensor=A one-too-many=1\nm,sensor=A x=1\n");
    assert_eq!(rows(&decoded).len(), 1);
    let codes: Vec<_> = decoded.rejections.by_code().collect();
    assert_eq!(
        codes,
        [
            (RejectCode::TooManyMeasures, 1),
            (RejectCode::TooManySensors, 1)
        ]
    );
}
