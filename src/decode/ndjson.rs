//! `application/x-ndjson`: one item a line.

use super::body_error::{error_byte, error_reason};
use super::decoded::Fault;
use super::item::Items;
use super::json::{is_json_space, item};
use super::{DecodeContext, Decoded, Gate};
use crate::model::RejectCode;

/// Decodes a body of one JSON object a line. A bad line is refused by itself;
/// blank lines are no items; CRLF ends a line as LF does, and the last line
/// needs no end. A byte order mark before the first line is skipped.
pub fn ndjson(body: &[u8], context: &DecodeContext, gate: &mut dyn Gate) -> Decoded {
    let mut items = Items::new(context, gate);
    let body = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body);
    for (number, line) in (1..).zip(body.split(|byte| *byte == b'\n')) {
        let text = std::str::from_utf8(line);
        if text.is_ok_and(|text| text.trim_matches(is_json_space).is_empty()) {
            continue;
        }
        items.begin_item();
        let fields = match text {
            Ok(text) => item(text, &mut items).unwrap_or_else(|error| {
                Err(invalid(error_byte(&error, text), &error_reason(&error)))
            }),
            Err(error) => Err(invalid(error.valid_up_to(), "not UTF-8")),
        };
        items.end_item(fields, Some(number), Some(line));
    }
    items.finish()
}

fn invalid(byte: usize, reason: &str) -> Fault {
    let detail = format!("the line is not JSON at its byte {byte}: {reason}");
    Fault::new(RejectCode::InvalidJson, None, detail)
}
