//! `application/json`: one item, an array of items, or `{"readings":[…]}`.
//!
//! serde_json says where a value begins and ends; its text is judged here. So a
//! number out of range costs its item and not the body.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::body_error::error_reason;
use super::decoded::Fault;
use super::item::Items;
use super::refused::Fill;
use super::timestamp::TimeText;
use super::{BodyError, DecodeContext, Decoded, Gate};
use crate::model::RejectCode;

/// Decodes a JSON body. A byte order mark before it is skipped.
///
/// # Errors
/// [`BodyError`] where the body is not JSON or has no items; nothing of it is
/// taken then.
pub fn json(
    body: &[u8],
    context: &DecodeContext,
    gate: &mut dyn Gate,
) -> Result<Decoded, BodyError> {
    let (text, start) = text_of(body)?;
    let not_json = |error: serde_json::Error| BodyError::from_json(&error, text, start);
    match text.as_bytes().first() {
        None => Err(BodyError::Empty),
        Some(b'[') => array(text, context, gate).map_err(not_json),
        Some(b'{') => {
            let Some(readings) = wrapped(text, start)? else {
                let mut items = Items::new(context, gate);
                single(text, &mut items);
                return Ok(items.finish());
            };
            let offset = readings.as_ptr() as usize - text.as_ptr() as usize;
            array(readings, context, gate)
                .map_err(|error| BodyError::from_json(&error, readings, start + offset))
        }
        Some(first) => {
            let _: &RawValue = serde_json::from_str(text).map_err(not_json)?;
            let found = match first {
                b'"' => "a string",
                b't' | b'f' => "a boolean",
                b'n' => "null",
                _ => "a number",
            };
            Err(BodyError::WrongShape {
                byte: start,
                found: found.to_owned(),
            })
        }
    }
}

/// The text of a body from its first value on, and where that begins.
fn text_of(body: &[u8]) -> Result<(&str, usize), BodyError> {
    let text = std::str::from_utf8(body).map_err(|error| BodyError::NotUtf8 {
        byte: error.valid_up_to(),
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text = text.trim_start_matches(is_json_space);
    Ok((text, body.len() - text.len()))
}

/// The array in `{"readings":[…]}`; `None` for an object that is an item.
fn wrapped(text: &str, start: usize) -> Result<Option<&str>, BodyError> {
    let envelope: Envelope<'_> =
        serde_json::from_str(text).map_err(|error| BodyError::from_json(&error, text, start))?;
    match (envelope.readings, envelope.other) {
        (Some(_), Some(other)) => {
            let other = super::decoded::excerpt(&other);
            Err(BodyError::WrongShape {
                byte: start,
                found: format!("an object with \"{other}\" beside \"readings\""),
            })
        }
        (readings, _) => Ok(readings),
    }
}

/// Reads a JSON text into `items` as [`json`] does a body, but is sure that all of
/// it is sound before the first item.
pub(super) fn whole<'a>(body: &'a [u8], items: &mut Items<'a, '_>) -> Result<(), BodyError> {
    let (text, start) = text_of(body)?;
    let not_json = |error: serde_json::Error| BodyError::from_json(&error, text, start);
    let _: &RawValue = serde_json::from_str(text).map_err(not_json)?;
    if text.starts_with('[') {
        return read_array::<CutOut>(text, items).map_err(not_json);
    }
    match wrapped(text, start)? {
        Some(readings) => read_array::<CutOut>(readings, items).map_err(not_json),
        None => {
            single(text, items);
            Ok(())
        }
    }
}

/// White space as JSON has it.
pub(super) fn is_json_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

/// Reads `text` as one item, which may be refused.
pub(super) fn item<'a>(
    text: &'a str,
    items: &mut Items<'a, '_>,
) -> Result<Result<(), Fault>, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let fields = deserializer.deserialize_any(ItemVisitor(items))?;
    deserializer.end()?;
    Ok(fields)
}

fn single<'a>(text: &'a str, items: &mut Items<'a, '_>) {
    items.begin_item();
    let fields = item(text, items).unwrap_or_else(|error| Err(unreadable(&error)));
    items.end_item(fields, None, Some(text.as_bytes()));
}

/// Decodes an array in one pass. Where that fails, each item is cut out first
/// and read by itself: what is not JSON at all fails again, while an item that
/// is valid by the grammar only (a lone surrogate in a key, 1e999 for an item)
/// is refused alone.
fn array(
    text: &str,
    context: &DecodeContext,
    gate: &mut dyn Gate,
) -> Result<Decoded, serde_json::Error> {
    match visit_array::<InPlace>(text, context, gate) {
        Ok(mut decoded) if !decoded.refused.items().is_empty() => {
            // What came is not at hand while it is read in one pass.
            let mut fill = std::mem::take(&mut decoded.refused).fill();
            let mut deserializer = serde_json::Deserializer::from_str(text);
            deserializer.deserialize_seq(TextVisitor(&mut fill))?;
            decoded.refused = fill.finish();
            Ok(decoded)
        }
        Ok(decoded) => Ok(decoded),
        Err(_) => visit_array::<CutOut>(text, context, gate),
    }
}

fn visit_array<W: Way>(
    text: &str,
    context: &DecodeContext,
    gate: &mut dyn Gate,
) -> Result<Decoded, serde_json::Error> {
    let mut items = Items::new(context, gate);
    read_array::<W>(text, &mut items)?;
    Ok(items.finish())
}

fn read_array<'a, W: Way>(
    text: &'a str,
    items: &mut Items<'a, '_>,
) -> Result<(), serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    deserializer.deserialize_seq(ArrayVisitor::<W>(items, std::marker::PhantomData))?;
    deserializer.end()
}

/// How the next item of an array is read; `None` behind the last.
trait Way {
    fn next<'de, A: SeqAccess<'de>>(
        array: &mut A,
        items: &mut Items<'de, '_>,
    ) -> Result<Option<ReadItem<'de>>, A::Error>;
}

/// What an item says, and its text where that is at hand.
type ReadItem<'a> = (Result<(), Fault>, Option<&'a str>);

struct InPlace;

impl Way for InPlace {
    fn next<'de, A: SeqAccess<'de>>(
        array: &mut A,
        items: &mut Items<'de, '_>,
    ) -> Result<Option<ReadItem<'de>>, A::Error> {
        let fields = array.next_element_seed(ItemVisitor(items))?;
        Ok(fields.map(|fields| (fields, None)))
    }
}

struct CutOut;

impl Way for CutOut {
    fn next<'de, A: SeqAccess<'de>>(
        array: &mut A,
        items: &mut Items<'de, '_>,
    ) -> Result<Option<ReadItem<'de>>, A::Error> {
        let raw = array.next_element::<&'de RawValue>()?;
        Ok(raw.map(|raw| {
            let fields = item(raw.get(), items);
            let fields = fields.unwrap_or_else(|error| Err(unreadable(&error)));
            (fields, Some(raw.get()))
        }))
    }
}

/// An item that the grammar allows and no text or number can hold.
fn unreadable(error: &serde_json::Error) -> Fault {
    Fault::new(RejectCode::InvalidJson, None, error_reason(error))
}

/// Reads an array for the texts of its refused items alone.
struct TextVisitor<'f>(&'f mut Fill);

impl<'de> Visitor<'de> for TextVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of items")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<(), A::Error> {
        for index in 0.. {
            if self.0.wanted() == Some(index) {
                match array.next_element::<&'de RawValue>()? {
                    Some(text) => self.0.give(text.get()),
                    None => break,
                }
            } else if array.next_element::<IgnoredAny>()?.is_none() {
                break;
            }
        }
        Ok(())
    }
}

struct ArrayVisitor<'i, 'a, 'c, W>(&'i mut Items<'a, 'c>, std::marker::PhantomData<W>);

impl<'de, W: Way> Visitor<'de> for ArrayVisitor<'_, 'de, '_, W> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of items")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<(), A::Error> {
        loop {
            self.0.begin_item();
            match W::next(&mut array, self.0)? {
                Some((fields, text)) => self.0.end_item(fields, None, text.map(str::as_bytes)),
                None => return Ok(()),
            }
        }
    }
}

struct ItemVisitor<'i, 'a, 'c>(&'i mut Items<'a, 'c>);

impl<'de> DeserializeSeed<'de> for ItemVisitor<'_, 'de, '_> {
    type Value = Result<(), Fault>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ItemVisitor<'_, 'de, '_> {
    type Value = Result<(), Fault>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an item")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Ok(());
        while fields.is_ok()
            && let Some((Key(key), value)) = map.next_entry::<Key<'de>, &'de RawValue>()?
        {
            fields = field(self.0, key, value.get());
        }
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(fields)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Self::Value, A::Error> {
        while array.next_element::<IgnoredAny>()?.is_some() {}
        not_an_object("an array")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
        not_an_object("a boolean")
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
        not_an_object("a number")
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> {
        not_an_object("a number")
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
        not_an_object("a number")
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Self::Value, E> {
        not_an_object("a string")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        not_an_object("null")
    }
}

fn not_an_object<E>(found: &str) -> Result<Result<(), Fault>, E> {
    let detail =
        format!("the item is {found}; send an object with sensorId, ts and a field per measure");
    Ok(Err(Fault::new(RejectCode::NotAnObject, None, detail)))
}

/// One field of an item; `value` is its text in the body.
fn field<'a>(items: &mut Items<'a, '_>, key: Cow<'a, str>, value: &'a str) -> Result<(), Fault> {
    match &*key {
        "sensorId" => match string(value) {
            None if value.starts_with('"') => {
                let detail = "sensorId holds half of a surrogate pair (\\ud800 to \\udfff), which \
                              is no character; send both halves or the character itself";
                Err(Fault::new(
                    RejectCode::InvalidSensorId,
                    Some("sensorId"),
                    detail,
                ))
            }
            id => items.sensor_id(id.as_deref()),
        },
        "ts" => match value.as_bytes().first() {
            Some(b'"') => items.ts(string(value).as_deref().map(TimeText::Rfc3339)),
            Some(b'-' | b'0'..=b'9') => items.ts(Some(TimeText::Number(value))),
            _ => items.ts(None),
        },
        "ageMs" => items.age_ms(Some(value)),
        "measures" => {
            items.measures(value.starts_with('{'))?;
            let mut deserializer = serde_json::Deserializer::from_str(value);
            deserializer
                .deserialize_map(MeasuresVisitor(items))
                .unwrap_or_else(|error| Err(unreadable(&error)))
        }
        _ => items.measure(key, value),
    }
}

/// The string that `value` is, unescaped; `None` for any other value, and for a
/// lone surrogate, which no text can hold.
fn string(value: &str) -> Option<Cow<'_, str>> {
    let inner = value.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        return serde_json::from_str(value).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(inner))
}

struct MeasuresVisitor<'i, 'a, 'c>(&'i mut Items<'a, 'c>);

impl<'de> Visitor<'de> for MeasuresVisitor<'_, 'de, '_> {
    type Value = Result<(), Fault>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of measures")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut measures = Ok(());
        while measures.is_ok()
            && let Some((Key(name), value)) = map.next_entry::<Key<'de>, &'de RawValue>()?
        {
            measures = self.0.measure(name, value.get());
        }
        // A map that is left early is taken for one that is not JSON.
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(measures)
    }
}

/// A key, borrowed where it has no escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de> serde::Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(KeyVisitor)
    }
}

struct KeyVisitor;

impl<'de> Visitor<'de> for KeyVisitor {
    type Value = Key<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E: Error>(self, key: &'de str) -> Result<Self::Value, E> {
        Ok(Key(Cow::Borrowed(key)))
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Self::Value, E> {
        Ok(Key(Cow::Owned(key.to_owned())))
    }
}

/// A top-level object: wrapped readings, or an item. `readings` with a number
/// is a measure.
struct Envelope<'a> {
    readings: Option<&'a str>,
    /// The first key that is not the one `readings`.
    other: Option<Cow<'a, str>>,
}

impl<'de> serde::Deserialize<'de> for Envelope<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EnvelopeVisitor)
    }
}

struct EnvelopeVisitor;

impl<'de> Visitor<'de> for EnvelopeVisitor {
    type Value = Envelope<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut envelope = Envelope {
            readings: None,
            other: None,
        };
        while let Some((Key(key), value)) = map.next_entry::<Key<'de>, &'de RawValue>()? {
            let is_list = key == "readings" && value.get().starts_with('[');
            if is_list && envelope.readings.is_none() {
                envelope.readings = Some(value.get());
            } else {
                envelope.other.get_or_insert(key);
            }
        }
        Ok(envelope)
    }
}
