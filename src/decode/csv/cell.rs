//! Cells to the values of measures.

use super::super::decoded::excerpt;
use super::super::line_protocol::{is_float, is_no_finite_word};
use super::super::measure_value::parse_number;
use crate::model::RejectCode;

/// What a cell holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum CellValue {
    /// Nothing: the measure is absent.
    Absent,
    /// Text, which is never a number.
    Text,
    /// A number (`1`, `-1.5`, `.5`, `5.`, `+1`, `1e3`) or a boolean (`true`,
    /// `True`, `TRUE` and their opposites), or why it is none that is taken:
    /// `not_finite` for NaN, infinities and magnitudes beyond 1e300,
    /// `integer_too_large` beyond 2^53 without a point or an exponent.
    Number(Result<f64, (RejectCode, String)>),
}

/// Reads a cell without the spaces around it.
pub(super) fn parse_cell(text: &str) -> CellValue {
    if text.is_empty() {
        return CellValue::Absent;
    }
    if is_float(text.as_bytes()) {
        return CellValue::Number(parse_number(text.strip_prefix('+').unwrap_or(text)));
    }
    match text {
        "true" | "True" | "TRUE" => CellValue::Number(Ok(1.0)),
        "false" | "False" | "FALSE" => CellValue::Number(Ok(0.0)),
        _ if is_no_finite_word(text) => {
            let detail = format!(
                "{} is not a finite number; leave the cell empty where nothing was measured",
                excerpt(text)
            );
            CellValue::Number(Err((RejectCode::NotFinite, detail)))
        }
        _ => CellValue::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c06_every_form_of_a_number_has_its_exact_value() {
        for (text, value) in [
            ("5", 5.0_f64),
            ("5.", 5.0),
            ("+5", 5.0),
            ("5e0", 5.0),
            ("0.5E+1", 5.0),
            (".5", 0.5),
            ("-.5", -0.5),
            ("-0.0", -0.0),
            ("007", 7.0),
            ("9007199254740992", 9_007_199_254_740_992.0),
            ("9007199254740993.0", 9_007_199_254_740_992.0),
            ("9007199254740993e0", 9_007_199_254_740_992.0),
            ("true", 1.0),
            ("FALSE", 0.0),
        ] {
            let CellValue::Number(Ok(read)) = parse_cell(text) else {
                panic!("{text}: {:?}", parse_cell(text));
            };
            assert_eq!(read.to_bits(), value.to_bits(), "{text}");
        }
    }

    #[test]
    fn c11_what_is_no_finite_number_is_refused() {
        for (text, expected) in [
            ("NaN", RejectCode::NotFinite),
            ("nan", RejectCode::NotFinite),
            ("-Inf", RejectCode::NotFinite),
            ("+infinity", RejectCode::NotFinite),
            ("1e301", RejectCode::NotFinite),
            ("-1e999", RejectCode::NotFinite),
            ("9007199254740993", RejectCode::IntegerTooLarge),
            ("+9007199254740993", RejectCode::IntegerTooLarge),
            ("-9007199254740993", RejectCode::IntegerTooLarge),
        ] {
            let CellValue::Number(Err((code, detail))) = parse_cell(text) else {
                panic!("{text}: {:?}", parse_cell(text));
            };
            assert_eq!(code, expected, "{text}");
            assert!(!detail.is_empty());
        }
    }

    #[test]
    fn c26_text_is_never_a_number() {
        for text in [
            "5i", "5u", "1,5", "1_000", "0x10", ".", "-", "e5", "1e", "1.2.3", "t", "F", "yes",
            "NA", "null", "é", "--1", "+-1", "1 2", "12:00",
        ] {
            assert_eq!(parse_cell(text), CellValue::Text, "{text}");
        }
        assert_eq!(parse_cell(""), CellValue::Absent);
    }
}
