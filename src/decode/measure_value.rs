//! Number literals to the values of measures.

use crate::model::{EXACT_INTEGER_MAX, RejectCode, VALUE_MAGNITUDE_MAX};

/// Reads the text of a JSON number, correctly rounded.
///
/// # Errors
/// `not_finite` beyond 1e300 in magnitude, `integer_too_large` for an integer
/// literal beyond 2^53, each with its detail.
pub(super) fn parse_number(text: &str) -> Result<f64, (RejectCode, String)> {
    let value: f64 = text.parse().map_err(|_| {
        let detail = format!("{} is not a number", super::decoded::excerpt(text));
        (RejectCode::NotANumber, detail)
    })?;
    if value.is_nan() || value.abs() > VALUE_MAGNITUDE_MAX {
        let detail = format!(
            "{} is not a finite number of magnitude up to 1e300; leave out what was not measured",
            super::decoded::excerpt(text)
        );
        return Err((RejectCode::NotFinite, detail));
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    // Up to 15 digits stay below 2^53.
    if digits.len() > 15 && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let exact = digits
            .parse()
            .is_ok_and(|size: u64| size <= EXACT_INTEGER_MAX);
        if !exact {
            let detail = format!(
                "the integer {} is beyond 2^53 and has no exact double; send it with a decimal \
                 point to have it rounded",
                super::decoded::excerpt(text)
            );
            return Err((RejectCode::IntegerTooLarge, detail));
        }
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<f64, RejectCode> {
        parse_number(text).map_err(|(code, _)| code)
    }

    #[test]
    fn c06_one_number_has_one_value_however_it_is_written() {
        for text in ["5", "5.0", "5e0", "0.5E1", "50e-1"] {
            assert_eq!(parsed(text), Ok(5.0), "{text}");
        }
    }

    #[test]
    fn numbers_are_correctly_rounded() {
        for (text, value) in [
            ("0.1", 0.1_f64),
            ("2.2250738585072014e-308", f64::MIN_POSITIVE),
            ("9007199254740993.0", 9_007_199_254_740_992.0),
            ("-1e300", -1e300),
            ("1e-999", 0.0),
        ] {
            assert_eq!(
                parsed(text).map(f64::to_bits),
                Ok(value.to_bits()),
                "{text}"
            );
        }
    }

    #[test]
    fn c11_what_is_not_finite_is_refused() {
        for text in ["1e999", "-1e999", "1.0001e300", "NaN", "inf"] {
            assert_eq!(parsed(text), Err(RejectCode::NotFinite), "{text}");
        }
        let long = "9".repeat(301);
        assert_eq!(parsed(&long), Err(RejectCode::NotFinite));
    }

    #[test]
    fn integers_beyond_2_to_the_53_are_refused_not_rounded() {
        assert_eq!(parsed("9007199254740992"), Ok(9_007_199_254_740_992.0));
        assert_eq!(parsed("-9007199254740992"), Ok(-9_007_199_254_740_992.0));
        for text in [
            "9007199254740993",
            "-9007199254740993",
            "99999999999999999999999",
        ] {
            assert_eq!(parsed(text), Err(RejectCode::IntegerTooLarge), "{text}");
        }
    }
}
