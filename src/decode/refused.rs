//! Refused items as they came, for whoever keeps them.

use std::iter::Peekable;

use crate::model::Rejection;

/// Bytes of an item's text, and of a table's header, that are taken along.
pub const ITEM_BYTES_MAX: usize = 4 << 10;

/// What a refused item takes in memory beside its texts, about.
const ITEM_BYTES: usize = 200;

/// How the text of an item is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemForm {
    /// A JSON text.
    Json,
    /// A row of CSV.
    Csv,
    /// A line of line protocol.
    Line,
}

/// A refused item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedItem {
    /// Why; its index is that in its body.
    pub rejection: Rejection,
    /// How its text is to be read.
    pub form: ItemForm,
    /// Its text as it came, without the line end; the first
    /// [`ITEM_BYTES_MAX`] bytes of it.
    pub text: Box<[u8]>,
    /// Whether the text is cut.
    pub is_cut: bool,
    /// The place of its body, where several are decoded together.
    pub body: usize,
}

impl RefusedItem {
    /// What it takes in memory, about.
    fn bytes(&self) -> usize {
        let field = self.rejection.field.as_deref().map_or(0, str::len);
        ITEM_BYTES + self.rejection.detail.len() + field + self.text.len()
    }
}

/// The first refused items, within a bound of bytes.
#[derive(Debug, Default)]
pub struct Refused {
    items: Vec<RefusedItem>,
    header: Option<Box<[u8]>>,
    bytes: usize,
    bytes_max: usize,
}

impl Refused {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            ..Self::default()
        }
    }

    /// The items, in the order of the body.
    #[must_use]
    pub fn items(&self) -> &[RefusedItem] {
        &self.items
    }

    /// The header of the table that they are rows of.
    #[must_use]
    pub fn header(&self) -> Option<&[u8]> {
        self.header.as_deref()
    }

    /// The items and the header.
    #[must_use]
    pub fn into_parts(self) -> (Vec<RefusedItem>, Option<Box<[u8]>>) {
        (self.items, self.header)
    }

    /// Bytes of memory that the items take, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn has_room(&self) -> bool {
        self.bytes < self.bytes_max
    }

    /// Takes an item along; its text may follow, see [`Refused::fill`].
    pub(super) fn push(
        &mut self,
        rejection: Rejection,
        form: ItemForm,
        text: Option<&[u8]>,
        body: usize,
    ) {
        let (text, is_cut) = taken(text.unwrap_or_default());
        let item = RefusedItem {
            rejection,
            form,
            text,
            is_cut,
            body,
        };
        self.bytes += item.bytes();
        self.items.push(item);
    }

    /// The items, to be given their texts in the order of the body. Those beyond
    /// the bound, of which the texts take their part, go.
    pub(super) fn fill(self) -> Fill {
        Fill {
            filled: Self {
                header: self.header,
                ..Self::new(self.bytes_max)
            },
            without: self.items.into_iter().peekable(),
        }
    }

    pub(super) fn set_header(&mut self, header: &[u8]) {
        if !self.items.is_empty() {
            let (header, _) = taken(header);
            self.bytes += header.len();
            self.header = Some(header);
        }
    }
}

/// Items that are given their texts.
#[derive(Debug)]
pub(super) struct Fill {
    without: Peekable<std::vec::IntoIter<RefusedItem>>,
    filled: Refused,
}

impl Fill {
    /// The index in its body of the item whose text is wanted next.
    pub(super) fn wanted(&mut self) -> Option<u64> {
        let next = self.without.peek().filter(|_| self.filled.has_room());
        next.map(|item| item.rejection.index)
    }

    /// The text of the item that is wanted.
    pub(super) fn give(&mut self, text: &str) {
        if let Some(item) = self.without.next() {
            let RefusedItem {
                rejection,
                form,
                body,
                ..
            } = item;
            let text = Some(text.as_bytes());
            self.filled.push(rejection, form, text, body);
        }
    }

    /// The items that have their texts.
    pub(super) fn finish(self) -> Refused {
        self.filled
    }
}

/// `text` without its line end, as far as it is taken along, and whether that is
/// a part.
fn taken(text: &[u8]) -> (Box<[u8]>, bool) {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    match text.get(..ITEM_BYTES_MAX) {
        Some(cut) if text.len() > ITEM_BYTES_MAX => (cut.into(), true),
        _ => (text.into(), false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::RejectCode;

    fn refused(bytes_max: usize, items: u64) -> Refused {
        let mut refused = Refused::new(bytes_max);
        for index in 0..items {
            if refused.has_room() {
                let rejection = Rejection {
                    index,
                    line: None,
                    field: None,
                    code: RejectCode::NotFinite,
                    detail: "x".repeat(100),
                };
                refused.push(rejection, ItemForm::Json, None, 0);
            }
        }
        refused
    }

    #[test]
    fn texts_that_come_later_count_as_those_that_come_at_once() {
        let refused = refused(10_000, 1000);
        assert_eq!(refused.items().len(), 34, "of 300 bytes each");
        let mut fill = refused.fill();
        while fill.wanted().is_some() {
            fill.give(&"y".repeat(700));
        }
        let refused = fill.finish();
        assert_eq!(refused.items().len(), 10, "of 1000 bytes each");
        assert_eq!(refused.bytes(), 10_000);
        assert!(refused.items().iter().all(|item| item.text.len() == 700));
    }

    #[test]
    fn an_item_is_cut_and_loses_its_line_end() {
        assert_eq!(taken(b"a b\r\n"), (b"a b"[..].into(), false));
        let long = [b'x'; ITEM_BYTES_MAX + 1];
        assert_eq!(taken(&long), (long[1..].into(), true));
        assert_eq!(taken(&long[1..]), (long[1..].into(), false));
    }

    #[test]
    fn nothing_is_taken_where_nothing_is_wanted() {
        assert!(refused(0, 10).items().is_empty());
    }
}
