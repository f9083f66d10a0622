//! The reply to an `update` command. Pure.

use std::collections::{BTreeMap, BTreeSet};

use ::mongodb::bson::{Bson, Document};

use super::failure::{by_code, corrupt, unavailable};
use crate::store::StoreError;

/// DuplicateKey.
const DUPLICATE_KEY: i32 = 11000;

/// What a reply says of a command's statements, by their position.
#[derive(Debug, Default)]
pub(super) struct UpdateReply {
    /// Documents matched or made.
    pub(super) applied: usize,
    /// Statements that made their document.
    pub(super) created: BTreeSet<usize>,
    /// Upserts that met a document.
    pub(super) duplicates: BTreeSet<usize>,
    /// Statements that failed otherwise.
    pub(super) failed: BTreeMap<usize, StoreError>,
}

impl UpdateReply {
    /// Reads a reply. A write concern error leaves it open whether any of the
    /// writes stays: `Err`, unavailable.
    pub(super) fn read(reply: &Document) -> Result<Self, StoreError> {
        if let Ok(error) = reply.get_document("writeConcernError") {
            let message = error.get_str("errmsg").unwrap_or_default();
            return Err(unavailable(format!(
                "writes are not acknowledged by a majority: {message}"
            )));
        }
        let bad = |field: &str| corrupt("a reply to update", format!("{field} is unreadable"));
        let mut read = Self {
            applied: whole(reply.get("n")).ok_or_else(|| bad("n"))?,
            ..Self::default()
        };
        for upserted in documents(reply, "upserted") {
            let index = whole(upserted.get("index")).ok_or_else(|| bad("upserted.index"))?;
            read.created.insert(index);
        }
        for error in documents(reply, "writeErrors") {
            let index = whole(error.get("index")).ok_or_else(|| bad("writeErrors.index"))?;
            let code = error.get_i32("code").map_err(|_| bad("writeErrors.code"))?;
            if code == DUPLICATE_KEY {
                read.duplicates.insert(index);
            } else {
                let message = error.get_str("errmsg").unwrap_or_default();
                read.failed.insert(index, by_code(code, message));
            }
        }
        Ok(read)
    }

    /// Documents that were there and matched.
    pub(super) fn matched(&self) -> usize {
        self.applied.saturating_sub(self.created.len())
    }
}

fn documents<'a>(reply: &'a Document, field: &str) -> impl Iterator<Item = &'a Document> {
    let list = reply.get_array(field).map_or(&[][..], Vec::as_slice);
    list.iter().filter_map(Bson::as_document)
}

fn whole(value: Option<&Bson>) -> Option<usize> {
    match value? {
        Bson::Int32(number) => usize::try_from(*number).ok(),
        Bson::Int64(number) => usize::try_from(*number).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use ::mongodb::bson::doc;

    use super::*;

    #[test]
    fn created_duplicate_and_failed_statements_are_told_apart() {
        let reply = doc! {
            "n": 3, "nModified": 2, "ok": 1.0,
            "upserted": [{ "index": 1, "_id": "S1|2026-05-01T10" }],
            "writeErrors": [
                { "index": 4, "code": 11000, "errmsg": "E11000 duplicate key" },
                { "index": 5, "code": 121, "errmsg": "Document failed validation" },
                { "index": 6, "code": 10107, "errmsg": "not primary" },
            ],
        };
        let read = UpdateReply::read(&reply).unwrap();
        assert_eq!(read.matched(), 2);
        assert!(read.created.contains(&1));
        assert!(read.duplicates.contains(&4));
        assert!(matches!(read.failed[&5], StoreError::Refused { .. }));
        assert!(matches!(read.failed[&6], StoreError::Unavailable { .. }));
    }

    #[test]
    fn a_write_concern_error_leaves_the_outcome_unknown() {
        let reply = doc! {
            "n": 1, "ok": 1.0,
            "writeConcernError": { "code": 64, "errmsg": "waiting for replication timed out" },
        };
        let error = UpdateReply::read(&reply).unwrap_err();
        assert!(matches!(error, StoreError::Unavailable { .. }));
    }
}
