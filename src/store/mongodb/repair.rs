//! Replacing computed fields that are wrong.

use super::connection::Connection;
use super::edit::{Replacement, replace};
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
