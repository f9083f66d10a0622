//! Writing: statements of a call in one command, outcomes by position.

use std::collections::HashMap;

use ::mongodb::bson::{Bson, RawDocumentBuf, doc};
use futures_util::future::join_all;

use super::connection::{Connection, Ready};
use super::decode::integer;
use super::document::part_id;
use super::failure::again;
use super::indexes::BUCKETS;
use super::reply::UpdateReply;
use super::statement::{append, close, create, split, update_command};
use crate::model::BucketKey;
use crate::store::{BucketVersion, BucketWrite, Expect, StoreError, WriteOutcome};

/// One statement of an `update` command.
struct Statement<'a> {
    /// Position of its write in the call.
    write: usize,
    key: &'a BucketKey,
    /// Version of the part where the statement applied.
    target: BucketVersion,
    /// Whether it makes the part.
    creates: bool,
    document: RawDocumentBuf,
}

/// Runs `writes`; outcomes in their order.
pub(super) async fn write(
    connection: &Connection,
    writes: &[BucketWrite],
) -> Result<Vec<WriteOutcome>, StoreError> {
    if writes.is_empty() {
        return Ok(Vec::new());
    }
    let ready = connection.ready().await?;
    let mut outcomes: Vec<Option<WriteOutcome>> = writes.iter().map(|_| None).collect();

    let closings = writes.iter().enumerate().filter_map(closing).collect();
    for (write, outcome) in run(connection, &ready, closings).await {
        // Closed: the write goes on to make the next part.
        if !matches!(outcome, WriteOutcome::Stored) {
            outcomes[write] = Some(outcome);
        }
    }
    let statements = writes
        .iter()
        .enumerate()
        .filter(|(at, _)| outcomes[*at].is_none())
        .map(statement)
        .collect();
    for (write, outcome) in run(connection, &ready, statements).await {
        outcomes[write] = Some(outcome);
    }
    let outcomes: Vec<_> = outcomes
        .into_iter()
        .map(|outcome| outcome.expect("every write has a statement in one of the two rounds"))
        .collect();
    match outcomes.first() {
        Some(WriteOutcome::Failed(error))
            if outcomes
                .iter()
                .all(|o| matches!(o, WriteOutcome::Failed(_))) =>
        {
            Err(again(error))
        }
        _ => Ok(outcomes),
    }
}

fn closing((at, write): (usize, &BucketWrite)) -> Option<Statement<'_>> {
    let Expect::Next {
        last,
        closing: Some(closing),
    } = write.expect
    else {
        return None;
    };
    Some(Statement {
        write: at,
        key: &write.key,
        target: closing,
        creates: false,
        document: close(&write.key, last, closing),
    })
}

fn statement((at, write): (usize, &BucketWrite)) -> Statement<'_> {
    let (creates, document) = match write.expect {
        Expect::Absent | Expect::Next { .. } => (true, create(write)),
        Expect::Open(expected) => (false, append(write, expected)),
    };
    Statement {
        write: at,
        key: &write.key,
        target: write.target,
        creates,
        document,
    }
}

/// Runs statements in as few commands as they fit into, side by side.
async fn run<'a>(
    connection: &Connection,
    ready: &Ready,
    statements: Vec<Statement<'a>>,
) -> Vec<(usize, WriteOutcome)> {
    let runs = split(statements, |statement| statement.document.as_bytes().len());
    let outcomes = join_all(
        runs.into_iter()
            .map(|statements| run_command(connection, ready, statements)),
    );
    outcomes.await.into_iter().flatten().collect()
}

async fn run_command(
    connection: &Connection,
    ready: &Ready,
    mut statements: Vec<Statement<'_>>,
) -> Vec<(usize, WriteOutcome)> {
    let documents = statements
        .iter_mut()
        .map(|statement| std::mem::take(&mut statement.document));
    let command = update_command(BUCKETS, documents);
    let reply = connection
        .bounded(ready.database.run_raw_command(command))
        .await
        .and_then(|reply| UpdateReply::read(&reply));
    let mut reply = match reply {
        Ok(reply) => reply,
        Err(error) => return failed(&statements, &error),
    };
    let updates = statements
        .iter()
        .enumerate()
        .filter(|(at, statement)| !statement.creates && !reply.failed.contains_key(at))
        .count();
    // The reply only counts what matched. Where that is some but not all, the
    // documents say who was lost.
    let versions = if reply.matched() == updates {
        None
    } else if reply.matched() == 0 {
        Some(HashMap::new())
    } else {
        match versions(connection, ready, &statements).await {
            Ok(versions) => Some(versions),
            Err(error) => return failed(&statements, &error),
        }
    };
    let mut outcomes = Vec::with_capacity(statements.len());
    for (at, statement) in statements.iter().enumerate() {
        let stored = if statement.creates {
            reply.created.contains(&at)
        } else {
            versions.as_ref().is_none_or(|versions| {
                let id = part_id(
                    &statement.key.sensor,
                    statement.key.hour,
                    statement.target.part,
                );
                versions.get(&id) == Some(&(statement.target.rev, statement.target.by))
            })
        };
        let outcome = match reply.failed.remove(&at) {
            Some(error) => WriteOutcome::Failed(error),
            None if stored => WriteOutcome::Stored,
            // A create that is neither made nor failed met a duplicate key.
            None => WriteOutcome::Fenced,
        };
        outcomes.push((statement.write, outcome));
    }
    outcomes
}

fn failed(statements: &[Statement<'_>], error: &StoreError) -> Vec<(usize, WriteOutcome)> {
    statements
        .iter()
        .map(|statement| (statement.write, WriteOutcome::Failed(again(error))))
        .collect()
}

/// `rev` and `by` of the parts that the updates among `statements` name, by
/// `_id`. A part that has the version of an earlier try of the same write counts
/// as stored, as it is; one that somebody else changed right after us counts as
/// lost: the caller then loads it and finds its readings in.
async fn versions(
    connection: &Connection,
    ready: &Ready,
    statements: &[Statement<'_>],
) -> Result<HashMap<String, (i64, i64)>, StoreError> {
    let updates = || statements.iter().filter(|statement| !statement.creates);
    let ids: Vec<Bson> = updates()
        .map(|s| Bson::String(part_id(&s.key.sensor, s.key.hour, s.target.part)))
        .collect();
    let mut sensors: Vec<&str> = updates().map(|s| s.key.sensor.as_str()).collect();
    sensors.sort_unstable();
    sensors.dedup();
    let filter = doc! { "_id": { "$in": ids }, "sensorId": { "$in": sensors } };
    connection
        .bounded_read(|| async {
            let mut cursor = ready
                .buckets
                .find(filter.clone())
                .projection(doc! { "rev": 1, "by": 1 })
                .batch_size(u32::MAX >> 1)
                .read_concern(ready.at_one_instant())
                .await?;
            let mut versions = HashMap::new();
            while cursor.advance().await? {
                let document = cursor.current();
                let number = |field| document.get(field).ok().flatten().and_then(integer);
                if let (Ok(id), Some(rev), Some(by)) =
                    (document.get_str("_id"), number("rev"), number("by"))
                {
                    versions.insert(id.to_owned(), (rev, by));
                }
            }
            Ok(versions)
        })
        .await
}
