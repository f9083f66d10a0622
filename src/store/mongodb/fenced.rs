//! Fenced updates of records (sensors, sites): many statements in one command,
//! and what became of each. What the reply leaves open is decided by one find of
//! versions.

use std::collections::HashMap;

use ::mongodb::bson::{Bson, Document, RawDocumentBuf, doc};

use super::connection::{Connection, Ready};
use super::failure::{again, unavailable};
use super::reply::UpdateReply;
use super::sensor_document::version;
use super::statement::{split, update_command};
use crate::store::{RecordVersion, StoreError, WriteOutcome};

/// How often statements are repeated that met another process making the same
/// record at the same moment.
const TRIES_MAX: usize = 3;

/// One statement of an `update` command on records.
#[derive(Clone)]
pub(super) struct Statement {
    /// `_id` of the record.
    pub(super) id: String,
    /// What it expects and makes; `None` where it takes the record as it is.
    pub(super) fence: Option<Fence>,
    pub(super) document: RawDocumentBuf,
}

/// The versions of a statement.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fence {
    /// `None`: no version is there; the statement may make the record.
    pub(super) expect: Option<RecordVersion>,
    pub(super) target: RecordVersion,
}

/// Which records, and the names of the fields that hold their version.
#[derive(Debug, Clone, Copy)]
pub(super) struct Records {
    pub(super) collection: &'static str,
    pub(super) rev: &'static str,
    pub(super) by: &'static str,
}

impl Records {
    /// A filter that matches the record only where its fence holds.
    pub(super) fn filter(&self, id: &str, fence: Option<Fence>) -> RawDocumentBuf {
        let filter = match fence {
            None => doc! { "_id": id },
            Some(Fence { expect: None, .. }) => {
                doc! { "_id": id, self.rev: { "$exists": false } }
            }
            Some(Fence {
                expect: Some(version),
                ..
            }) => doc! { "_id": id, self.rev: version.rev, self.by: version.by },
        };
        RawDocumentBuf::try_from(&filter).expect("texts and numbers make a document")
    }

    /// Runs statements, at most one a record; outcomes in their order.
    pub(super) async fn update(
        &self,
        connection: &Connection,
        statements: Vec<Statement>,
    ) -> Result<Vec<WriteOutcome>, StoreError> {
        let ready = connection.ready().await?;
        let mut outcomes = Vec::with_capacity(statements.len());
        for run in split(statements, |statement| statement.document.as_bytes().len()) {
            outcomes.extend(self.run(connection, &ready, run).await?);
        }
        Ok(outcomes)
    }

    async fn run(
        &self,
        connection: &Connection,
        ready: &Ready,
        statements: Vec<Statement>,
    ) -> Result<Vec<WriteOutcome>, StoreError> {
        let mut outcomes: Vec<Option<WriteOutcome>> = statements.iter().map(|_| None).collect();
        for _ in 0..TRIES_MAX {
            let open: Vec<usize> = (0..statements.len())
                .filter(|at| outcomes[*at].is_none())
                .collect();
            if open.is_empty() {
                break;
            }
            let documents = open.iter().map(|at| statements[*at].document.clone());
            let command = update_command(self.collection, documents);
            let reply = connection
                .bounded(ready.database.run_raw_command(command))
                .await?;
            let mut reply = UpdateReply::read(&reply)?;
            let mut undecided = Vec::new();
            let mut updates = 0;
            for (position, at) in open.iter().enumerate() {
                let may_make = statements[*at].fence.is_none_or(|f| f.expect.is_none());
                if let Some(error) = reply.failed.remove(&position) {
                    outcomes[*at] = Some(WriteOutcome::Failed(error));
                } else if reply.duplicates.contains(&position) {
                    if statements[*at].fence.is_some() {
                        undecided.push(*at);
                    }
                } else if reply.created.contains(&position) {
                    outcomes[*at] = Some(WriteOutcome::Stored);
                } else if may_make {
                    updates += 1;
                    outcomes[*at] = Some(WriteOutcome::Stored);
                } else {
                    updates += 1;
                    undecided.push(*at);
                }
            }
            let all_matched = reply.matched() == updates;
            if all_matched {
                undecided.retain(|at| {
                    let is_update = statements[*at].fence.is_some_and(|f| f.expect.is_some());
                    if is_update {
                        outcomes[*at] = Some(WriteOutcome::Stored);
                    }
                    !is_update
                });
            }
            if !undecided.is_empty() {
                let versions = self
                    .versions(connection, ready, &statements, &undecided)
                    .await?;
                for at in undecided {
                    let Some(fence) = statements[at].fence else {
                        continue;
                    };
                    let found = versions.get(&statements[at].id).copied().flatten();
                    outcomes[at] = if found == Some(fence.target) {
                        Some(WriteOutcome::Stored)
                    } else if found == fence.expect && fence.expect.is_none() {
                        // Somebody made the record at this moment, and not its
                        // version: once more.
                        None
                    } else {
                        Some(WriteOutcome::Fenced)
                    };
                }
            }
        }
        let lost = || {
            let error = unavailable("records are being made elsewhere at this moment");
            WriteOutcome::Failed(again(&error))
        };
        Ok(outcomes
            .into_iter()
            .map(|outcome| outcome.unwrap_or_else(lost))
            .collect())
    }

    /// The versions of records by `_id`.
    async fn versions(
        &self,
        connection: &Connection,
        ready: &Ready,
        statements: &[Statement],
        asked: &[usize],
    ) -> Result<HashMap<String, Option<RecordVersion>>, StoreError> {
        let ids: Vec<Bson> = asked
            .iter()
            .map(|at| Bson::String(statements[*at].id.clone()))
            .collect();
        let filter = doc! { "_id": { "$in": ids } };
        let collection = ready.database.collection::<Document>(self.collection);
        connection
            .bounded_read(|| async {
                let mut cursor = collection
                    .find(filter.clone())
                    .projection(doc! { self.rev: 1, self.by: 1 })
                    .batch_size(u32::MAX >> 1)
                    .read_concern(ready.at_one_instant())
                    .await?;
                let mut versions = HashMap::new();
                while cursor.advance().await? {
                    let document = cursor.deserialize_current()?;
                    if let Ok(id) = document.get_str("_id") {
                        // One that cannot be read is nobody's version.
                        let found = version(&document, self.rev, self.by).unwrap_or_default();
                        versions.insert(id.to_owned(), found);
                    }
                }
                Ok(versions)
            })
            .await
    }
}
