//! Bytes of a body to readings: columns plus one rejection per refused item.
//!
//! Values in, values out: no I/O, no async, no clock, and no input panics.
//! What cannot be read is told, never guessed:
//!
//! - A JSON body that does not parse is refused whole ([`BodyError`]); in
//!   line-wise bodies each bad line is refused by itself. A refused item costs
//!   no other item its place, and no item takes anything from the one before.
//! - An item is an object with the reserved keys `sensorId`, `ts`, `ageMs` and
//!   `measures`; every other key is a measure, with or without `measures`
//!   beside it. Inside `measures` every key is a measure.
//! - Numbers are read from their text, correctly rounded; integers beyond 2^53
//!   are refused. `true` and `false` are 1 and 0. Text is never a number: it is
//!   skipped and counted. `null` is what many encoders write for "no value", so
//!   a measure that is `null` counts as absent. A reserved key that is `null`
//!   is a fault: a reading must not be dated or named by accident.
//! - In line protocol a line is an item; see [`line_protocol`]. In CSV a row is;
//!   see [`csv`].
//! - Without `ts` and `ageMs` an item is stamped with the time of receipt, by
//!   [`Gate`], once and only if it is otherwise accepted.
//! - The first fault of an item, in the order of its text, decides its
//!   rejection.

mod body_error;
mod columns;
mod csv;
mod datagrams;
mod decimal;
mod decoded;
mod item;
mod json;
mod line_protocol;
mod measure_value;
mod ndjson;
mod refused;
mod row_end;
mod timestamp;

pub use body_error::BodyError;
pub use csv::{CsvColumns, CsvZone, csv, csv_row_end};
pub use datagrams::{DecodedDatagrams, datagrams};
pub use decoded::{DecodeContext, Decoded, Gate, Rejections};
pub use json::json;
pub use line_protocol::{LineMapping, LineOptions, TextOnly, line_end, line_protocol};
pub use ndjson::ndjson;
pub use refused::{ITEM_BYTES_MAX, ItemForm, Refused, RefusedItem};
pub use row_end::RowEnd;
pub use timestamp::{TimeFault, TimeText, TimeUnit, parse_time};

#[cfg(test)]
mod tests;
