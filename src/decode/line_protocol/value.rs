//! Field values to the values of measures.

use super::super::decoded::excerpt;
use crate::model::{EXACT_INTEGER_MAX, RejectCode, VALUE_MAGNITUDE_MAX};

/// Reads a value that is no string: a float (`1`, `-1.5`, `.5`, `5.`, `+1`,
/// `1e3`), an integer (`5i`, `5u`) or a boolean (`t`, `T`, `true`, `True`,
/// `TRUE` and their opposites).
///
/// # Errors
/// `not_finite` for NaN, infinities and magnitudes beyond 1e300,
/// `integer_too_large` for an `i` or `u` beyond 2^53, else `not_a_number`.
pub(super) fn parse_value(text: &str) -> Result<f64, (RejectCode, String)> {
    let bytes = text.as_bytes();
    match bytes {
        [digits @ .., b'i' | b'u'] if is_integer(digits, bytes[bytes.len() - 1] == b'i') => {
            return integer(text);
        }
        _ if is_float(bytes) => {
            let value: f64 = text.parse().map_err(|_| not_a_number(text))?;
            return if value.abs() <= VALUE_MAGNITUDE_MAX {
                Ok(value)
            } else {
                Err(not_finite(text))
            };
        }
        _ => {}
    }
    match text {
        "t" | "T" | "true" | "True" | "TRUE" => Ok(1.0),
        "f" | "F" | "false" | "False" | "FALSE" => Ok(0.0),
        _ if is_no_finite_word(text) => Err(not_finite(text)),
        _ => Err(not_a_number(text)),
    }
}

fn integer(text: &str) -> Result<f64, (RejectCode, String)> {
    let digits = &text[..text.len() - 1];
    let (negative, digits) = match digits.as_bytes()[0] {
        b'-' => (true, &digits[1..]),
        b'+' => (false, &digits[1..]),
        _ => (false, digits),
    };
    match digits.parse::<u64>() {
        Ok(size) if size <= EXACT_INTEGER_MAX => {
            let size = size as f64;
            Ok(if negative && size > 0.0 { -size } else { size })
        }
        _ => {
            let detail = format!(
                "the integer {} is beyond 2^53 and has no exact double; send it as a float \
                 (without the i) to have it rounded",
                excerpt(text)
            );
            Err((RejectCode::IntegerTooLarge, detail))
        }
    }
}

fn is_integer(text: &[u8], signed: bool) -> bool {
    let digits = match text {
        [b'-' | b'+', digits @ ..] if signed => digits,
        digits => digits,
    };
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// `[+-]? (digits [. digits?] | . digits) ([eE] [+-]? digits)?`
pub(in super::super) fn is_float(text: &[u8]) -> bool {
    let rest = match text {
        [b'-' | b'+', rest @ ..] => rest,
        rest => rest,
    };
    let digits = |text: &[u8]| text.iter().take_while(|b| b.is_ascii_digit()).count();
    let whole = digits(rest);
    let rest = &rest[whole..];
    let (fraction, rest) = match rest {
        [b'.', rest @ ..] => {
            let fraction = digits(rest);
            (fraction, &rest[fraction..])
        }
        rest => (0, rest),
    };
    if whole + fraction == 0 {
        return false;
    }
    match rest {
        [] => true,
        [b'e' | b'E', b'-' | b'+', exponent @ ..] | [b'e' | b'E', exponent @ ..] => {
            !exponent.is_empty() && digits(exponent) == exponent.len()
        }
        _ => false,
    }
}

pub(in super::super) fn is_no_finite_word(text: &str) -> bool {
    let word = text.strip_prefix(['-', '+']).unwrap_or(text);
    ["nan", "inf", "infinity"]
        .iter()
        .any(|name| word.eq_ignore_ascii_case(name))
}

fn not_finite(text: &str) -> (RejectCode, String) {
    let detail = format!(
        "{} is not a finite number of magnitude up to 1e300; leave out what was not measured",
        excerpt(text)
    );
    (RejectCode::NotFinite, detail)
}

fn not_a_number(text: &str) -> (RejectCode, String) {
    let detail = format!(
        "{} is no number (1.5, 1e3, 5i, 5u), no boolean, and as text it needs quotes",
        excerpt(text)
    );
    (RejectCode::NotANumber, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(text: &str) -> Result<u64, RejectCode> {
        parse_value(text)
            .map(f64::to_bits)
            .map_err(|(code, _)| code)
    }

    #[test]
    fn c06_every_form_of_a_number_has_its_exact_value() {
        for (text, value) in [
            ("5", 5.0_f64),
            ("5i", 5.0),
            ("5u", 5.0),
            ("5.0", 5.0),
            ("5.", 5.0),
            ("+5", 5.0),
            ("+5i", 5.0),
            ("5e0", 5.0),
            ("0.5E+1", 5.0),
            (".5", 0.5),
            ("-.5", -0.5),
            ("-0.0", -0.0),
            ("-0i", 0.0),
            ("1e-320", 1e-320),
            ("9007199254740992i", 9_007_199_254_740_992.0),
            ("-9007199254740992i", -9_007_199_254_740_992.0),
            ("9007199254740993", 9_007_199_254_740_992.0),
            ("t", 1.0),
            ("TRUE", 1.0),
            ("False", 0.0),
        ] {
            assert_eq!(bits(text), Ok(value.to_bits()), "{text}");
        }
    }

    #[test]
    fn c11_what_is_no_finite_number_is_refused() {
        for text in ["NaN", "nan", "-Inf", "+infinity", "1e301", "-1e999"] {
            assert_eq!(bits(text), Err(RejectCode::NotFinite), "{text}");
        }
        for text in [
            "9007199254740993i",
            "-9007199254740993i",
            "9007199254740993u",
        ] {
            assert_eq!(bits(text), Err(RejectCode::IntegerTooLarge), "{text}");
        }
        for text in [
            "", "1_000", "0x10", ".", "-", "+", "e5", "1e", "1e+", "1.2.3", "-5u", "i", "-i",
            "1.5i", "5I", "tRUE", "yes", "é", "5 ",
        ] {
            assert_eq!(bits(text), Err(RejectCode::NotANumber), "{text}");
        }
    }
}
