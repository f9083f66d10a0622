//! How long something is kept, as people write it: `400d`, `12h`, `forever`.

use super::Keep;

/// The shortest, in seconds: buckets are hours.
const SECONDS_MIN: u64 = 3600;
/// The longest, in seconds: a thousand years.
const SECONDS_MAX: u64 = 1000 * 366 * 86_400;

/// Units and their seconds, largest first.
const UNITS: [(&str, u64); 5] = [
    ("w", 604_800),
    ("d", 86_400),
    ("h", 3600),
    ("m", 60),
    ("s", 1),
];

/// What `text` says; `None` where it is no whole number with a unit from an hour
/// to a thousand years, and not `forever`.
#[must_use]
pub fn read_keep(text: &str) -> Option<Keep> {
    if text == "forever" {
        return Some(Keep::Forever);
    }
    let (unit, seconds) = UNITS.iter().find(|(unit, _)| text.ends_with(unit))?;
    let number = text.strip_suffix(unit)?;
    if !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let seconds = number.parse::<u64>().ok()?.checked_mul(*seconds)?;
    (SECONDS_MIN..=SECONDS_MAX)
        .contains(&seconds)
        .then_some(Keep::Seconds(seconds))
}

/// The text that [`read_keep`] reads as `keep`, in days where it is whole days.
#[must_use]
pub fn keep_text(keep: Keep) -> String {
    match keep {
        Keep::Forever => "forever".to_owned(),
        Keep::Seconds(seconds) => {
            let whole = UNITS.iter().skip(1).find(|(_, unit)| seconds % unit == 0);
            let (unit, size) = whole.unwrap_or(&("s", 1));
            format!("{}{unit}", seconds / size)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_and_written_alike() {
        for (text, seconds) in [("400d", 34_560_000), ("36h", 129_600), ("3601s", 3601)] {
            assert_eq!(read_keep(text), Some(Keep::Seconds(seconds)));
            assert_eq!(keep_text(Keep::Seconds(seconds)), text);
        }
        assert_eq!(read_keep("2w"), Some(Keep::Seconds(1_209_600)));
        assert_eq!(keep_text(Keep::Seconds(1_209_600)), "14d");
        assert_eq!(read_keep(&keep_text(Keep::Forever)), Some(Keep::Forever));
        for text in [
            "",
            "d",
            "10",
            "59m",
            "-1d",
            "1.5d",
            "1y",
            "99999999999d",
            "1 d",
        ] {
            assert_eq!(read_keep(text), None, "{text}");
        }
    }
}
