//! What flushes tell of sensors: `lastSeen`, tags, `recent`.

use ::mongodb::bson::raw::cstr;
use ::mongodb::bson::{RawBson, RawDocumentBuf, rawdoc};

use super::attributes::merged;
use super::connection::Connection;
use super::fenced::{Fence, Records, Statement};
use super::indexes::SENSORS;
use super::sensor_document::{date, recent};
use crate::store::{SensorTold, StoreError, WriteOutcome};

const RECENT: Records = Records {
    collection: SENSORS,
    rev: "recentRev",
    by: "recentBy",
};

/// One command for all of them, where no fence is lost.
pub(super) async fn touch(
    connection: &Connection,
    told: &[SensorTold],
) -> Result<Vec<WriteOutcome>, StoreError> {
    if told.is_empty() {
        return Ok(Vec::new());
    }
    RECENT
        .update(connection, told.iter().map(statement).collect())
        .await
}

fn statement(told: &SensorTold) -> Statement {
    let id = told.sensor.as_str();
    let fence = told.recent.as_ref().map(|write| Fence {
        expect: write.expect,
        target: write.target,
    });
    let change = match told.attributes.is_empty() {
        true => RawBson::Document(plain(told)),
        false => RawBson::Array([pipeline(told)].into_iter().collect()),
    };
    let may_make = fence.is_none_or(|fence| fence.expect.is_none());
    Statement {
        id: id.to_owned(),
        fence,
        document: rawdoc! { "q": RECENT.filter(id, fence), "u": change, "upsert": may_make },
    }
}

/// Without tags no expression is needed; those cost the server more.
fn plain(told: &SensorTold) -> RawDocumentBuf {
    let mut change = RawDocumentBuf::new();
    if let Some(seen) = told.last_seen {
        change.append(cstr!("$max"), rawdoc! { "lastSeen": date(seen) });
    }
    if let Some(write) = &told.recent {
        let set = rawdoc! {
            "recent": recent(&write.readings),
            "recentRev": write.target.rev,
            "recentBy": write.target.by,
        };
        change.append(cstr!("$set"), set);
    }
    if change.is_empty() {
        // Makes the record where there is none, and changes nothing.
        change.append(cstr!("$setOnInsert"), rawdoc! {});
    }
    change
}

fn pipeline(told: &SensorTold) -> RawDocumentBuf {
    let mut set = RawDocumentBuf::new();
    if let Some(seen) = told.last_seen {
        set.append(
            cstr!("lastSeen"),
            rawdoc! { "$max": ["$lastSeen", date(seen)] },
        );
    }
    set.append(cstr!("attrs"), merged(&told.attributes));
    if let Some(write) = &told.recent {
        // A literal: names of measures may begin with `$` inside it.
        set.append(
            cstr!("recent"),
            rawdoc! { "$literal": recent(&write.readings) },
        );
        set.append(cstr!("recentRev"), rawdoc! { "$literal": write.target.rev });
        set.append(cstr!("recentBy"), rawdoc! { "$literal": write.target.by });
    }
    rawdoc! { "$set": set }
}
