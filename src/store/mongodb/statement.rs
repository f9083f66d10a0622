//! Statements of the `update` command, and commands made of them. Pure.

use ::mongodb::bson::raw::cstr;
use ::mongodb::bson::{RawArrayBuf, RawDocumentBuf, rawdoc};

use super::document::{new_part, part_id, set_fields};
use super::readings_array::readings;
use crate::model::BucketKey;
use crate::store::{BucketVersion, BucketWrite};

/// Largest command in bytes. A command is one BSON document, which the server
/// takes up to 16 MiB + 16 KiB; what the driver adds (session, cluster time)
/// needs less than the 512 KiB left.
pub const COMMAND_BYTES_MAX: usize = 15 * 1024 * 1024 + 512 * 1024;

/// Most statements of a command. The server takes 100,000, but its reply names
/// each document made, at up to 450 bytes of `_id`, and must stay below 16 MB.
pub const COMMAND_STATEMENTS_MAX: usize = 20_000;

/// What one element of an array costs beside its document.
const ARRAY_ELEMENT_BYTES: usize = 16;

/// Makes a part. The filter can match no document, a damaged one without `rev`
/// included, so the upsert either inserts or meets the part that is there: a
/// duplicate key, E11000. A replacement keeps the order of fields.
pub(super) fn create(write: &BucketWrite) -> RawDocumentBuf {
    let document = new_part(&write.key, write.target, &write.elements, &write.computed);
    rawdoc! {
        "q": {
            "_id": part_id(&write.key.sensor, write.key.hour, write.target.part),
            "sensorId": write.key.sensor.as_str(),
            // Nobody writes this type. A condition that is false by its form
            // alone would be optimized away, and `sensorId`, which a router
            // needs, with it.
            "rev": { "$type": "minKey" },
        },
        "u": document,
        "upsert": true,
    }
}

/// Appends to a part that has the version `expected`. Never an upsert: that
/// would make a partial bucket where the part is gone.
pub(super) fn append(write: &BucketWrite, expected: BucketVersion) -> RawDocumentBuf {
    let mut change = RawDocumentBuf::new();
    if !write.elements.is_empty() {
        change.append(
            cstr!("$push"),
            rawdoc! { "readings": { "$each": readings(&write.elements) } },
        );
    }
    change.append(cstr!("$set"), set_fields(write.target, &write.computed));
    update(open_part(&write.key, expected), change)
}

/// Closes the part that has the version `last`.
pub(super) fn close(
    key: &BucketKey,
    last: BucketVersion,
    closing: BucketVersion,
) -> RawDocumentBuf {
    let change = rawdoc! { "$set": { "rev": closing.rev, "by": closing.by, "full": true } };
    update(open_part(key, last), change)
}

/// Changes the part that has the version `expected`, open or closed.
pub(super) fn edit(
    key: &BucketKey,
    expected: BucketVersion,
    change: RawDocumentBuf,
) -> RawDocumentBuf {
    update(part(key, expected), change)
}

fn update(filter: RawDocumentBuf, change: RawDocumentBuf) -> RawDocumentBuf {
    rawdoc! { "q": filter, "u": change, "upsert": false }
}

pub(super) fn part(key: &BucketKey, version: BucketVersion) -> RawDocumentBuf {
    rawdoc! {
        "_id": part_id(&key.sensor, key.hour, version.part),
        "sensorId": key.sensor.as_str(),
        "rev": version.rev,
        "by": version.by,
    }
}

fn open_part(key: &BucketKey, version: BucketVersion) -> RawDocumentBuf {
    let mut filter = part(key, version);
    filter.append(cstr!("full"), rawdoc! { "$ne": true });
    // Without readings a push would make a list of the new ones alone.
    filter.append(cstr!("rawDropped"), rawdoc! { "$ne": true });
    filter
}

/// An `update` command of statements that do not depend on one another.
pub(super) fn update_command(
    collection: &str,
    statements: impl IntoIterator<Item = RawDocumentBuf>,
) -> RawDocumentBuf {
    let updates: RawArrayBuf = statements.into_iter().collect();
    rawdoc! {
        "update": collection,
        "updates": updates,
        "ordered": false,
        "writeConcern": { "w": "majority", "j": true },
    }
}

/// Splits statements into runs that fit one command each, in order. A
/// statement too large for any command gets one of its own, for the server to
/// refuse.
pub(super) fn split<T>(statements: Vec<T>, bytes: impl Fn(&T) -> usize) -> Vec<Vec<T>> {
    let mut runs = Vec::new();
    let mut run = Vec::new();
    let mut run_bytes = 0;
    for statement in statements {
        let statement_bytes = bytes(&statement) + ARRAY_ELEMENT_BYTES;
        let full =
            run_bytes + statement_bytes > COMMAND_BYTES_MAX || run.len() == COMMAND_STATEMENTS_MAX;
        if full && !run.is_empty() {
            runs.push(std::mem::take(&mut run));
            run_bytes = 0;
        }
        run_bytes += statement_bytes;
        run.push(statement);
    }
    if !run.is_empty() {
        runs.push(run);
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_split_by_bytes_and_by_number() {
        let third = COMMAND_BYTES_MAX / 3;
        let sizes = vec![third, third, third, 10, 2 * COMMAND_BYTES_MAX, 10];
        let runs = split(sizes, |size| *size);
        let lengths: Vec<_> = runs.iter().map(Vec::len).collect();
        assert_eq!(lengths, [2, 2, 1, 1]);

        let runs = split(vec![1; COMMAND_STATEMENTS_MAX + 1], |size| *size);
        let lengths: Vec<_> = runs.iter().map(Vec::len).collect();
        assert_eq!(lengths, [COMMAND_STATEMENTS_MAX, 1]);
    }
}
