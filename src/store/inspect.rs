//! A look that takes nothing for granted, for `verify`: beside what can be read it
//! tells what reads pass over or stop at.

use std::fmt;

use crate::model::BucketKey;

use super::{StoreError, StoredPart};

/// How a flaw counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FlawKind {
    /// Something is missing, or contradicts what stands beside it.
    Damaged,
    /// Something is there that this version does not know: it may be right, and
    /// nothing that holds it may be written to.
    NotUnderstood,
}

/// Something wrong with the form of a document or record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// How it counts.
    pub kind: FlawKind,
    /// Which document or record.
    pub what: String,
    /// What is wrong with it; begins with the field, where it is one.
    pub reason: String,
}

impl Flaw {
    /// Something that is damaged.
    #[must_use]
    pub fn damaged(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            kind: FlawKind::Damaged,
            what: what.into(),
            reason: reason.into(),
        }
    }

    /// Something that is not understood.
    #[must_use]
    pub fn not_understood(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            kind: FlawKind::NotUnderstood,
            what: what.into(),
            reason: reason.into(),
        }
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.what)?;
        if self.kind == FlawKind::NotUnderstood {
            f.write_str("not understood: ")?;
        }
        f.write_str(&self.reason)
    }
}

/// A record and what is wrong with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Inspected<T> {
    /// The record as reads see it; `None` where they cannot.
    pub record: Option<T>,
    /// What is wrong with its form.
    pub flaws: Vec<Flaw>,
}

impl<T> Inspected<T> {
    /// Whether nothing of it is unknown to this version.
    #[must_use]
    pub fn is_understood(&self) -> bool {
        let unknown = |flaw: &Flaw| flaw.kind == FlawKind::NotUnderstood;
        !self.flaws.iter().any(unknown)
    }
}

/// What there is of a bucket, whether or not it makes one.
#[derive(Debug, Clone, PartialEq)]
pub struct InspectedBucket {
    /// Which bucket; `None` where what was found names none.
    pub key: Option<BucketKey>,
    /// The parts that could be read, by their numbers, which may have gaps and
    /// stand twice.
    pub parts: Vec<StoredPart>,
    /// Whether these are all that belongs to the bucket, as far as can be seen.
    pub is_whole: bool,
    /// What is wrong with the form of the parts.
    pub flaws: Vec<Flaw>,
}

impl InspectedBucket {
    /// What is none.
    #[must_use]
    pub fn flawed(key: Option<BucketKey>, flaw: Flaw) -> Self {
        Self {
            key,
            parts: Vec::new(),
            is_whole: false,
            flaws: vec![flaw],
        }
    }
}

/// What a store answers that is not made to be looked at so.
pub(super) fn not_inspected(store: &'static str) -> StoreError {
    StoreError::Refused {
        store,
        reason: "it cannot be verified".to_owned(),
    }
}
