//! Decimal numbers read exactly from their text.
//!
//! Times are not read through a double: at nanoseconds since the epoch a double
//! is 256 ns wide, and 1777629600.123457 s has none of its own.

/// Overflow of 64 bits, or no number at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLarge {
    pub(super) negative: bool,
}

/// A number as JSON writes it: `digits * 10^exponent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decimal<'a> {
    negative: bool,
    /// The integer part, without leading zeros.
    whole: &'a str,
    fraction: &'a str,
    exponent: i64,
}

impl<'a> Decimal<'a> {
    /// Reads `-?digits(.digits)?([eE][+-]?digits)?`; `None` for any other text.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
            None => (text, 0),
        };
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((_, "")) => return None,
            Some(parts) => parts,
            None => (mantissa, ""),
        };
        if !is_digits(whole) || !(fraction.is_empty() || is_digits(fraction)) {
            return None;
        }
        Some(Self {
            negative,
            whole: whole.trim_start_matches('0'),
            fraction,
            exponent,
        })
    }

    pub(super) fn is_negative(self) -> bool {
        self.negative && !self.is_zero()
    }

    pub(super) fn is_zero(self) -> bool {
        self.digits().all(|digit| digit == 0)
    }

    /// Digits before the decimal point, leading zeros not counted: 0 below 1,
    /// 11 below 1e11.
    pub(super) fn whole_digits(self) -> i64 {
        let leading_zeros = self.digits().take_while(|digit| *digit == 0).count();
        self.point().saturating_sub(length(leading_zeros)).max(0)
    }

    /// The greatest integer not above `self * 10^shift`.
    pub(super) fn floor_scaled(self, shift: i64) -> Result<i64, TooLarge> {
        if self.is_zero() {
            return Ok(0);
        }
        let too_large = TooLarge {
            negative: self.negative,
        };
        let point = self.point().saturating_add(shift);
        let mut value: i64 = 0;
        let mut place: i64 = 0;
        let mut inexact = false;
        // Negative values are built downwards, as their range is the larger.
        let mut append = |digit: i64| {
            let signed = if self.negative { -digit } else { digit };
            value = value
                .checked_mul(10)
                .and_then(|value| value.checked_add(signed))
                .ok_or(too_large)?;
            Ok(())
        };
        for digit in self.digits() {
            if place < point {
                append(i64::from(digit))?;
                place += 1;
            } else {
                inexact |= digit != 0;
            }
        }
        // A non-zero value overflows after 19 of these.
        while place < point {
            append(0)?;
            place += 1;
        }
        if inexact && self.negative {
            return value.checked_sub(1).ok_or(too_large);
        }
        Ok(value)
    }

    /// Where the decimal point stands in `digits`.
    fn point(self) -> i64 {
        length(self.whole.len()).saturating_add(self.exponent)
    }

    fn digits(self) -> impl Iterator<Item = u8> + 'a {
        self.whole
            .bytes()
            .chain(self.fraction.bytes())
            .map(|byte| byte - b'0')
    }
}

fn length(digits: usize) -> i64 {
    i64::try_from(digits).unwrap_or(i64::MAX)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// An exponent, kept within what no body can reach with its digits.
fn parse_exponent(text: &str) -> Option<i64> {
    const BEYOND_ANY: i64 = 1 << 60;
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if !is_digits(digits) {
        return None;
    }
    let size = digits.parse().unwrap_or(BEYOND_ANY).min(BEYOND_ANY);
    Some(if negative { -size } else { size })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floor(text: &str, shift: i64) -> Option<i64> {
        Decimal::parse(text).unwrap().floor_scaled(shift).ok()
    }

    #[test]
    fn scaling_is_exact_and_truncates_towards_the_past() {
        for (text, shift, expected) in [
            ("1777629600.123456999", 6, Some(1_777_629_600_123_456)),
            ("1.7776296e9", 6, Some(1_777_629_600_000_000)),
            ("17776296E+2", 0, Some(1_777_629_600)),
            ("1999", -3, Some(1)),
            ("-1", -3, Some(-1)),
            ("-1000", -3, Some(-1)),
            ("-1001", -3, Some(-2)),
            ("-0.0000001", 6, Some(-1)),
            ("0.00", 6, Some(0)),
            ("-0", 6, Some(0)),
            ("0e99999999999999999999", 6, Some(0)),
            ("1e-99999999999999999999", 6, Some(0)),
            ("-1e-99999999999999999999", 6, Some(-1)),
            ("9223372036854775807", 0, Some(i64::MAX)),
            ("-9223372036854775808", 0, Some(i64::MIN)),
            ("9223372036854775808", 0, None),
            ("-9223372036854775808.5", 0, None),
            ("1e99999999999999999999", 0, None),
            ("9223372036854775807", 6, None),
        ] {
            assert_eq!(floor(text, shift), expected, "{text} by {shift}");
        }
    }

    #[test]
    fn magnitude_is_counted_in_digits() {
        for (text, digits) in [
            ("0", 0),
            ("0.5", 0),
            ("99999999999.999", 11),
            ("-100000000000", 12),
            ("1e11", 12),
            ("0.001e5", 3),
            ("1e-5", 0),
        ] {
            assert_eq!(
                Decimal::parse(text).unwrap().whole_digits(),
                digits,
                "{text}"
            );
        }
    }

    #[test]
    fn what_json_does_not_call_a_number_is_none_here() {
        for text in [
            "", "-", "+1", ".5", "1.", "1e", "1e+", "1e1.5", "0x10", "1 ", "1_0", "NaN", "é",
        ] {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
    }
}
