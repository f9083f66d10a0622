//! How large documents become.

use crate::bucket::Element;
use crate::model::{BucketKey, MeasureName};

/// Upper bound of the bytes that one element adds to a document.
#[must_use]
pub fn element_bytes(element: Element<'_>) -> usize {
    let values: usize = element
        .values()
        .map(|(name, _)| 1 + 3 * name.as_str().len() + 1 + 8)
        .sum();
    40 + values
}

/// Upper bound of a document without its readings.
#[must_use]
pub fn document_overhead(key: &BucketKey, measures: &[MeasureName]) -> usize {
    let names: usize = measures.iter().map(|m| 6 * m.as_str().len() + 96).sum();
    512 + 4 * key.sensor.as_str().len() + names
}
