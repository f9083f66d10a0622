//! Every form of a time, every unit, and what is refused with which hint.

use super::*;
use proptest::prelude::*;

fn text(text: &str) -> Result<String, TimeFault> {
    parse_time(TimeText::Rfc3339(text), None).map(|at| at.to_string())
}

fn number(text: &str, unit: Option<TimeUnit>) -> Result<i64, TimeFault> {
    parse_time(TimeText::Number(text), unit).map(Micros::get)
}

/// Accepts 2000-01-01 to 2026-05-01T10:05:00Z, at 2026-05-01T10:00:00Z.
fn context(unit: Option<TimeUnit>) -> DecodeContext {
    DecodeContext {
        received_at: Micros::new(1_777_629_600_000_000).unwrap(),
        min_time: Micros::new(946_684_800_000_000).unwrap(),
        max_time: Micros::new(1_777_629_900_000_000).unwrap(),
        unit,
        unit_parameter: "unit",
    }
}

fn refusal(raw: TimeText<'_>, unit: Option<TimeUnit>) -> (RejectCode, String) {
    read_time(raw, &context(unit)).unwrap_err()
}

#[test]
fn rfc_3339_is_read_with_any_offset() {
    for (sent, read) in [
        ("2026-05-01T10:00:00Z", "2026-05-01T10:00:00Z"),
        ("2026-05-01t10:00:00z", "2026-05-01T10:00:00Z"),
        ("2026-05-01 10:00:00.5Z", "2026-05-01T10:00:00.5Z"),
        ("2026-05-01T12:00:00+02:00", "2026-05-01T10:00:00Z"),
        ("2026-05-01T00:30:00-09:30", "2026-05-01T10:00:00Z"),
        ("2026-05-01T10:00:00-00:00", "2026-05-01T10:00:00Z"),
        ("2024-02-29T23:59:59.000001Z", "2024-02-29T23:59:59.000001Z"),
        (
            "1969-12-31T23:59:59.9999999Z",
            "1969-12-31T23:59:59.999999Z",
        ),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
    ] {
        assert_eq!(text(sent).as_deref(), Ok(read), "{sent}");
    }
}

#[test]
fn other_texts_are_refused_with_their_fault() {
    use TimeFault::*;
    for (sent, fault) in [
        ("", NotRfc3339),
        ("yesterday", NotRfc3339),
        ("1777629600", NotRfc3339),
        ("2026-05-01", NotRfc3339),
        ("2026-05-01T10:00Z", NotRfc3339),
        ("20260501T100000Z", NotRfc3339),
        ("01.05.2026 10:00:00Z", NotRfc3339),
        ("2026-05-01T10:00:00,5Z", NotRfc3339),
        ("2026-05-01T10:00:00.Z", NotRfc3339),
        ("2026-05-01T10:00:00+0200", NotRfc3339),
        ("2026-05-01T10:00:00+02", NotRfc3339),
        ("2026-05-01T12:00:00+02:00[Europe/Berlin]", NotRfc3339),
        (" 2026-05-01T10:00:00Z", NotRfc3339),
        ("2026-05-01T10:00:00Z ", NotRfc3339),
        ("２026-05-01T10:00:00Z", NotRfc3339),
        ("2026-05-01T10:00:00é", NotRfc3339),
        ("2026-05-01T10:00:00", NoOffset),
        ("2026-05-01T10:00:00.25", NoOffset),
        ("2026-02-30T10:00:00Z", NoSuchTime),
        ("2026-13-01T10:00:00Z", NoSuchTime),
        ("2026-05-01T24:00:00Z", NoSuchTime),
        ("2026-05-01T10:00:61Z", NoSuchTime),
        ("2026-05-01T10:00:00+24:00", NoSuchTime),
        ("2016-12-31T23:59:60Z", LeapSecond),
        ("9999-12-31T23:59:59Z", AfterCalendar),
        ("0000-12-31T00:00:00Z", BeforeCalendar),
    ] {
        assert_eq!(text(sent), Err(fault), "{sent}");
    }
}

#[test]
fn c04_what_is_finer_than_a_microsecond_is_cut_and_nothing_else() {
    for (sent, micros) in [
        ("1777629600.123456999", 1_777_629_600_123_456),
        ("1777629600123.4569", 1_777_629_600_123_456),
        ("1777629600123456.9", 1_777_629_600_123_456),
        ("1777629600123456999", 1_777_629_600_123_456),
        ("-0.0000001", -1),
    ] {
        assert_eq!(number(sent, None), Ok(micros), "{sent}");
    }
    assert_eq!(
        text("2026-05-01T10:00:00.123456999Z").as_deref(),
        Ok("2026-05-01T10:00:00.123456Z")
    );
}

#[test]
fn the_unit_follows_from_the_size() {
    for (sent, micros) in [
        ("1777629600", 1_777_629_600_000_000),
        ("1.7776296e9", 1_777_629_600_000_000),
        ("1777629600000", 1_777_629_600_000_000),
        ("99999999999", 99_999_999_999_000_000),
        ("100000000000", 100_000_000_000_000),
        ("99999999999999", 99_999_999_999_999_000),
        ("100000000000000", 100_000_000_000_000),
        ("99999999999999999", 99_999_999_999_999_999),
        ("100000000000000000", 100_000_000_000_000),
        ("-1.5", -1_500_000),
        ("-100000000000", -100_000_000_000_000),
        ("0", 0),
    ] {
        assert_eq!(number(sent, None), Ok(micros), "{sent}");
    }
}

#[test]
fn a_named_unit_holds_whatever_the_size() {
    for (sent, unit, micros) in [
        ("5", "s", 5_000_000),
        ("5", "ms", 5_000),
        ("5", "us", 5),
        ("5999", "ns", 5),
        ("-1", "ns", -1),
        ("2", "m", 120_000_000),
        ("-1", "h", -3_600_000_000),
        ("1777629600", "ms", 1_777_629_600_000),
    ] {
        let unit = TimeUnit::parse(unit);
        assert!(unit.is_some());
        assert_eq!(number(sent, unit), Ok(micros), "{sent}");
    }
    assert_eq!(TimeUnit::parse("d"), None);
}

#[test]
fn c15_an_overflow_is_refused_and_never_another_date() {
    for unit in TimeUnit::ALL {
        for (sent, fault) in [
            ("1e30", TimeFault::AfterCalendar),
            ("9223372036854775807000", TimeFault::AfterCalendar),
            ("18446744073709551616000", TimeFault::AfterCalendar),
            ("-1e99999999999999999999", TimeFault::BeforeCalendar),
        ] {
            assert_eq!(number(sent, Some(unit)), Err(fault), "{sent}");
        }
    }
    assert_eq!(
        number("9223372036854775807", None),
        Ok(9_223_372_036_854_775)
    );
    let (code, detail) = refusal(TimeText::Number("1777629600000"), Some(TimeUnit::Seconds));
    assert_eq!(code, RejectCode::TooFarInFuture);
    assert_eq!(
        detail,
        "1777629600000 with unit=s is after the year 9999, after 2026-05-01T10:05:00Z \
         (ingest.max_future beyond 2026-05-01T10:00:00Z); did you mean unit=ms?"
    );
}

#[test]
fn c12_a_refused_time_names_the_reading_of_it_the_bound_and_the_likely_unit() {
    assert_eq!(
        refusal(TimeText::Number("1777629600"), Some(TimeUnit::Millis)),
        (
            RejectCode::TooOld,
            "1777629600 with unit=ms is 1970-01-21T13:47:09.6Z, before 2000-01-01T00:00:00Z \
             (ingest.min_time); did you mean unit=s?"
                .to_owned()
        )
    );
    assert_eq!(
        refusal(TimeText::Number("86400"), None),
        (
            RejectCode::TooOld,
            "86400 read as unit=s is 1970-01-02T00:00:00Z, before 2000-01-01T00:00:00Z \
             (ingest.min_time); check the device's clock, or leave the time out"
                .to_owned()
        )
    );
    let (code, detail) = refusal(TimeText::Rfc3339("9999-12-31T23:59:59Z"), None);
    assert_eq!(code, RejectCode::TooFarInFuture);
    assert!(detail.starts_with("\"9999-12-31T23:59:59Z\" is after 2026-05-01T10:05:00Z"));
    let (code, detail) = refusal(TimeText::Rfc3339("2026-05-01T10:00:00"), None);
    assert_eq!(code, RejectCode::InvalidTime);
    assert!(detail.ends_with("add Z or an offset such as +02:00"));
}

#[test]
fn c18_the_range_is_bounded_on_both_sides_and_holds_its_bounds() {
    let seconds =
        |text| read_time(TimeText::Number(text), &context(None)).map_err(|(code, _)| code);
    assert!(seconds("946684800").is_ok());
    assert!(seconds("1777629900").is_ok());
    for early in ["946684799.999999", "-1777629600", "0", "1"] {
        assert_eq!(seconds(early), Err(RejectCode::TooOld), "{early}");
    }
    // An hour ahead, a microsecond too far, the year 5138.
    for late in ["1777633200", "1777629900.000001", "99999999999"] {
        assert_eq!(seconds(late), Err(RejectCode::TooFarInFuture), "{late}");
    }
}

proptest! {
    #[test]
    fn an_instant_written_as_text_or_number_is_read_back(micros in 0_i64..253_402_207_199_999_999) {
        let at = Micros::new(micros).unwrap();
        prop_assert_eq!(parse_time(TimeText::Rfc3339(&at.to_string()), None), Ok(at));
        let seconds = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
        prop_assert_eq!(number(&seconds, Some(TimeUnit::Seconds)), Ok(micros));
        prop_assert_eq!(number(&format!("{micros}999"), Some(TimeUnit::Nanos)), Ok(micros));
    }

    #[test]
    fn any_text_is_read_or_refused(sent in "[-0-9TtZz:.+eE é]{0,40}") {
        for raw in [TimeText::Rfc3339(&sent), TimeText::Number(&sent)] {
            if let Err((_, detail)) = read_time(raw, &context(None)) {
                prop_assert!(!detail.is_empty());
            }
        }
    }
}
