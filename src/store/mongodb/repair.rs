//! Repairs: each is one fenced update of one document.

use super::connection::Connection;
use super::edit::{Replacement, replace};
use super::indexes::BUCKETS;
use super::plain::update;
use super::statement::close;
use crate::bucket::Computed;
use crate::model::BucketKey;
use crate::store::{BucketVersion, StoreError};

/// Sets the computed fields of one part and removes sums that belong to none,
/// where the part still has the version `expected`. Whether it did.
pub(super) async fn repair(
    connection: &Connection,
    key: &BucketKey,
    expected: BucketVersion,
    target: BucketVersion,
    computed: &Computed,
) -> Result<bool, StoreError> {
    let with = Replacement {
        target,
        elements: None,
        computed,
    };
    replace(connection, key, expected, with).await
}

/// Closes one part, where it still has the version `expected`. Whether it did.
pub(super) async fn close_part(
    connection: &Connection,
    key: &BucketKey,
    expected: BucketVersion,
    target: BucketVersion,
) -> Result<bool, StoreError> {
    let statement = close(key, expected, target);
    Ok(update(connection, BUCKETS, vec![statement]).await? == 1)
}
