//! A kept item as a line of JSON.

use std::borrow::Cow;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::decode::{ItemForm, RefusedItem, TimeUnit};
use crate::model::{Micros, RejectCode};

/// Where a body came in, and how it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    /// The path of the request; `udp` for datagrams.
    pub name: &'static str,
    /// The unit of numeric times, where it was told.
    pub unit: Option<TimeUnit>,
}

impl ItemForm {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Csv => "csv",
            Self::Line => "line",
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    id: u64,
    reason: &'a str,
    detail: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'a str>,
    received_at: String,
    source: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<IpAddr>,
    format: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<&'a str>,
    index: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    header: Option<Cow<'a, str>>,
    is_exact: bool,
    item: ItemText<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ItemText<'a> {
    /// A JSON object, digit by digit as it came.
    Object(Box<RawValue>),
    Text(Cow<'a, str>),
}

/// An item with what is the same for all of its body.
#[derive(Debug)]
pub(super) struct Kept<'a> {
    pub(super) id: u64,
    pub(super) received_at: Micros,
    pub(super) source: Source,
    pub(super) peer: Option<IpAddr>,
    pub(super) header: Option<&'a [u8]>,
    pub(super) item: &'a RefusedItem,
}

impl Kept<'_> {
    /// Appends it as a line.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let item = self.item;
        let rejection = &item.rejection;
        let text = String::from_utf8_lossy(&item.text);
        let is_exact = !item.is_cut && matches!(text, Cow::Borrowed(_));
        let object = (is_exact && item.form == ItemForm::Json)
            .then(|| object(&text))
            .flatten();
        let line = Line {
            id: self.id,
            reason: rejection.code.as_str(),
            detail: &rejection.detail,
            field: rejection.field.as_deref(),
            received_at: self.received_at.to_string(),
            source: self.source.name,
            peer: self.peer,
            format: item.form.as_str(),
            unit: self.source.unit.map(TimeUnit::as_str),
            index: rejection.index,
            line: rejection.line,
            header: self.header.map(String::from_utf8_lossy),
            is_exact,
            item: object.map_or(ItemText::Text(text), ItemText::Object),
        };
        serde_json::to_writer(&mut *out, &line)
            .expect("a record is texts, numbers and sound JSON, and memory takes it");
        out.push(b'\n');
    }
}

/// `text` on one line, if it is a JSON object. A line end within JSON is white
/// space: texts hold none.
fn object(text: &str) -> Option<Box<RawValue>> {
    let text = text.trim();
    if !text.starts_with('{') {
        return None;
    }
    // What some readers refuse (a half of a surrogate pair, a number beyond a
    // double) would make them refuse the record: that stays a text.
    serde_json::from_str::<Value>(text).ok()?;
    let raw: Box<RawValue> = serde_json::from_str(text).ok()?;
    if !raw.get().contains(['\n', '\r']) {
        return Some(raw);
    }
    RawValue::from_string(raw.get().replace(['\n', '\r'], " ")).ok()
}

/// What a line says of its item, as far as it is looked for.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Seen<'a> {
    pub(super) id: u64,
    reason: &'a str,
    received_at: &'a str,
    pub(super) format: &'a str,
    pub(super) is_exact: bool,
    #[serde(borrow)]
    pub(super) item: &'a RawValue,
}

/// A line that was read.
#[derive(Debug)]
pub(super) struct Read<'a> {
    pub(super) seen: Seen<'a>,
    pub(super) code: RejectCode,
    pub(super) received_at: Micros,
}

/// Reads a line; `None` where it is damaged.
pub(super) fn read(line: &[u8]) -> Option<Read<'_>> {
    let seen: Seen<'_> = serde_json::from_slice(line).ok()?;
    let mut codes = RejectCode::ALL.into_iter();
    let code = codes.find(|code| code.as_str() == seen.reason)?;
    let at: jiff::Timestamp = seen.received_at.parse().ok()?;
    let received_at = Micros::new(at.as_microsecond()).ok()?;
    Some(Read {
        seen,
        code,
        received_at,
    })
}

#[cfg(test)]
mod tests {
    use super::object;

    #[test]
    fn an_object_is_told_as_it_came_if_every_reader_can_read_it() {
        let told = |text: &str| object(text).map(|raw| raw.get().to_owned());
        let same = "{\"a\":1.10,\"a\":[]}";
        assert_eq!(told(same).as_deref(), Some(same));
        assert_eq!(told(" {\"a\":\r\n1} ").as_deref(), Some("{\"a\":  1}"));
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(500), "]".repeat(500));
        for text in ["7", "[1]", "{", "{\"\\ud800\":1}", "{\"a\":1e999}", &deep] {
            assert_eq!(told(text), None, "{text}");
        }
    }
}
