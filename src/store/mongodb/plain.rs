//! Statements that carry no fence of their own, or are the only one of their
//! command: all that is asked is how many documents they met.

use ::mongodb::bson::{RawArrayBuf, RawDocumentBuf, rawdoc};

use super::connection::Connection;
use super::failure::unavailable;
use super::reply::UpdateReply;
use super::statement::{split, update_command};
use crate::store::StoreError;

/// Runs updates, as one command where they fit it; how many documents matched.
///
/// # Errors
/// The first failure; other statements may be in. All statements here may be
/// repeated.
pub(super) async fn update(
    connection: &Connection,
    collection: &str,
    statements: Vec<RawDocumentBuf>,
) -> Result<u64, StoreError> {
    let mut matched = 0;
    for run in split(statements, |statement| statement.as_bytes().len()) {
        let reply = send(connection, update_command(collection, run)).await?;
        matched += reply.matched() as u64;
    }
    Ok(matched)
}

/// Runs deletes, as one command where they fit it; how many documents went.
///
/// # Errors
/// As [`update`].
pub(super) async fn delete(
    connection: &Connection,
    collection: &str,
    statements: Vec<RawDocumentBuf>,
) -> Result<u64, StoreError> {
    let mut removed = 0;
    for run in split(statements, |statement| statement.as_bytes().len()) {
        let deletes: RawArrayBuf = run.into_iter().collect();
        let command = rawdoc! {
            "delete": collection,
            "deletes": deletes,
            "ordered": false,
            "writeConcern": { "w": "majority", "j": true },
        };
        // The reply has the form of one to `update`.
        removed += send(connection, command).await?.applied as u64;
    }
    Ok(removed)
}

async fn send(connection: &Connection, command: RawDocumentBuf) -> Result<UpdateReply, StoreError> {
    let ready = connection.ready().await?;
    let reply = connection
        .bounded(ready.database.run_raw_command(command))
        .await?;
    let mut reply = UpdateReply::read(&reply)?;
    if let Some((_, error)) = reply.failed.pop_first() {
        return Err(error);
    }
    if !reply.duplicates.is_empty() {
        return Err(unavailable(
            "a record is being made elsewhere at this moment",
        ));
    }
    Ok(reply)
}
