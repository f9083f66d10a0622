//! What a sender is told of refused lines: one bounded message.

use std::fmt::Write;

use crate::ingest::Outcome;

/// Lines told one by one.
const TOLD_MAX: usize = 5;

/// Bytes told of each.
const DETAIL_BYTES_MAX: usize = 250;

/// The message of a body of which `outcome.rejected` lines, at least one, were
/// refused; at most about 3 KB.
///
/// It holds the words that Telegraf, old versions too, drops a batch for; others
/// they would send again for ever.
pub(super) fn message(outcome: &Outcome) -> String {
    let lines = outcome.accepted + outcome.rejected;
    let mut text = if outcome.accepted > 0 {
        format!(
            "partial write: {} of {lines} lines were refused, the others are stored",
            outcome.rejected
        )
    } else {
        format!(
            "unable to parse: nothing was stored, {} of {lines} lines were refused",
            outcome.rejected
        )
    };
    for rejection in outcome.rejections.iter().take(TOLD_MAX) {
        let mut told = match rejection.line {
            Some(line) => format!("; line {line}"),
            None => format!("; item {}", rejection.index),
        };
        if let Some(field) = &rejection.field {
            push(&mut told, format_args!(", {field}"));
        }
        push(
            &mut told,
            format_args!(" ({}): {}", rejection.code, rejection.detail),
        );
        cut(&mut told);
        text.push_str(&told);
    }
    let told = outcome.rejections.len().min(TOLD_MAX) as u64;
    if outcome.rejected > told {
        push(
            &mut text,
            format_args!("; and {} more", outcome.rejected - told),
        );
    }
    let by_code = outcome.rejected_by_code.iter();
    let by_code: Vec<String> = by_code
        .map(|(code, items)| format!("{code} {items}"))
        .collect();
    push(
        &mut text,
        format_args!(
            "; in all: {} dropped={}",
            by_code.join(", "),
            outcome.rejected
        ),
    );
    text
}

fn push(text: &mut String, more: std::fmt::Arguments<'_>) {
    text.write_fmt(more)
        .expect("writing to a text does not fail");
}

fn cut(text: &mut String) {
    if text.len() > DETAIL_BYTES_MAX {
        text.truncate(text.floor_char_boundary(DETAIL_BYTES_MAX));
        text.push('…');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Micros, RejectCode, Rejection};

    fn outcome(accepted: u64, rejected: u64, detail: &str) -> Outcome {
        let rejection = |index| Rejection {
            index,
            line: Some(index + 1),
            field: Some("temp".to_owned()),
            code: RejectCode::NotFinite,
            detail: detail.to_owned(),
        };
        Outcome {
            accepted,
            rejected,
            rejections: (0..rejected.min(100)).map(rejection).collect(),
            rejected_by_code: vec![(RejectCode::NotFinite, rejected)],
            server_time: Micros::MIN,
        }
    }

    #[test]
    fn the_first_lines_and_all_codes_are_told() {
        assert_eq!(
            message(&outcome(3, 1, "NaN is not finite")),
            "partial write: 1 of 4 lines were refused, the others are stored; line 1, temp \
             (not_finite): NaN is not finite; in all: not_finite 1 dropped=1"
        );
        let text = message(&outcome(0, 7, "x"));
        assert!(text.starts_with("unable to parse: nothing was stored, 7 of 7"));
        assert!(text.contains("line 5, temp (not_finite): x; and 2 more; in all: not_finite 7"));
        assert!(!text.contains("line 6"), "{text}");
    }

    #[test]
    fn a_message_is_bounded_whatever_was_sent() {
        let text = message(&outcome(1, u64::MAX / 2, &"é".repeat(10_000)));
        assert!(text.len() < 3000, "{} bytes", text.len());
    }
}
