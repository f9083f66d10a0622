//! Chunks: some elements of an hour as compact columns, lossless bit for bit.
//!
//! A chunk is a format byte, the measures' names, the layout (which element
//! has which measures), the column of instants, one column of values for each
//! measure, and a CRC-32C. Each column says how it is encoded and takes what is
//! smallest; `docs/formats.md` has the bytes.

mod instants;
mod layout;
mod packed;
mod values;

use layout::Layout;

use super::bytes::{Reader, put_block, put_varint, seal, unseal};
use super::damage::Damage;
use crate::bucket::Elements;
use crate::model::MeasureName;

/// The format this version writes.
const FORMAT: u8 = 1;

/// Columns of at least this many entries are tried with `pco`; below, its
/// fixed cost a call and a column outweighs what it saves.
const PACK_ENTRIES_MIN: usize = 100;

/// Encodes `elements`, in their order.
pub(super) fn encode(elements: &Elements) -> Vec<u8> {
    let mut out = vec![FORMAT];
    put_varint(&mut out, elements.len() as u64);
    put_varint(&mut out, elements.names().len() as u64);
    for name in elements.names() {
        put_block(&mut out, name.as_str().as_bytes());
    }
    let layout = Layout::of(elements);
    layout.encode(&mut out);
    instants::encode(&mut out, elements.offsets());
    for column in values::columns(elements, &layout) {
        values::encode(&mut out, &column);
    }
    seal(&mut out);
    out
}

/// Appends the elements of `chunk` to `elements`. After an error `elements` is
/// as it was.
pub(super) fn decode_into(chunk: &[u8], elements: &mut Elements) -> Result<(), Damage> {
    decode_body(unseal(chunk)?, elements)
}

/// Decodes what stands before the checksum.
fn decode_body(body: &[u8], elements: &mut Elements) -> Result<(), Damage> {
    let mut reader = Reader::new(body);
    let format = reader.byte()?;
    if format != FORMAT {
        return Err(Damage::UnknownFormat(format));
    }
    let rows = reader.varint()?;
    let rows = u32::try_from(rows).map_err(|_| Damage::Invalid("it counts too many elements"))?;
    let mut names = Vec::new();
    for _ in 0..reader.count()? {
        let name = std::str::from_utf8(reader.block()?).ok();
        let name = name.and_then(|text| MeasureName::new(text).ok());
        names.push(name.ok_or(Damage::Invalid("it names no legal measure"))?);
    }
    let layout = Layout::decode(&mut reader, rows as usize, names.len())?;
    let instants = instants::decode(&mut reader, rows as usize)?;
    let mut columns = Vec::with_capacity(names.len());
    for entries in layout.entries_by_measure(names.len()) {
        columns.push(values::decode(&mut reader, entries)?.into_iter());
    }
    reader.end()?;

    let mut offsets = (0..).map_while(|row| instants.at(row));
    for (shape, run) in layout.runs() {
        for offset in offsets.by_ref().take(run) {
            let values = shape.iter().filter_map(|measure| {
                let value = columns.get_mut(*measure as usize)?.next()?;
                Some((names.get(*measure as usize)?, value))
            });
            elements.push(offset, values);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
