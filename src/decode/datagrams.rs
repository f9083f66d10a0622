//! Datagrams: each line protocol, one line or many, or one JSON text.

use super::decoded::Fault;
use super::item::Items;
use super::json;
use super::line_protocol::LineReader;
use super::{DecodeContext, Decoded, Gate, ItemForm, LineOptions};
use crate::model::RejectCode;

/// Decoded datagrams.
#[derive(Debug, Default)]
pub struct DecodedDatagrams {
    /// The readings of all of them, and their rejections.
    pub decoded: Decoded,
    /// How many there were.
    pub datagrams: u64,
    /// How many held nothing but white space.
    pub empty: u64,
    /// How many had an item that was refused.
    pub faulty: u64,
    /// The place of the first of these; the first rejection is of it.
    pub first_faulty: Option<usize>,
}

/// Decodes datagrams into one batch. One whose first character is `{` or `[` is
/// JSON: an item, an array of items, or `{"readings":[…]}`; where that is not
/// sound, the datagram is one item, refused as `invalid_json`, and nothing of it
/// is taken. Any other is line protocol. Bad lines and items cost no other.
///
/// A datagram is asked for when the one before is read and its items were
/// stamped, so a [`Gate`] may follow what is being read.
pub fn datagrams<'a>(
    datagrams: impl Iterator<Item = &'a [u8]>,
    context: &DecodeContext,
    options: LineOptions<'_>,
    gate: &mut dyn Gate,
) -> DecodedDatagrams {
    let mut items = Items::new(context, gate);
    let mut lines = LineReader::new(options);
    let mut all = DecodedDatagrams::default();
    for (place, datagram) in datagrams.enumerate() {
        all.datagrams += 1;
        items.begin_body(place);
        let refused = items.refused();
        let text = datagram
            .strip_prefix("\u{feff}".as_bytes())
            .unwrap_or(datagram);
        match text.trim_ascii_start().first() {
            None => all.empty += 1,
            Some(b'{' | b'[') => {
                items.set_form(ItemForm::Json);
                if let Err(error) = json::whole(datagram, &mut items) {
                    items.begin_item();
                    let fault = Fault::new(RejectCode::InvalidJson, None, error);
                    items.end_item(Err(fault), None, Some(datagram));
                }
            }
            Some(_) => lines.read(datagram, &mut items),
        }
        if items.refused() > refused {
            all.faulty += 1;
            all.first_faulty.get_or_insert(place);
        }
    }
    all.decoded = items.finish();
    all
}
