//! `attrs` as expressions: merged inside the server, in the one update of the
//! document, so that two processes that tell different keys lose none.

use ::mongodb::bson::{RawArrayBuf, RawDocumentBuf, rawdoc};

use super::sensor_document::{numbers, texts};
use crate::model::{ATTRIBUTES_MAX, Tags};

/// Those of the list `input` whose key is (or is not) one of the list `keys`.
fn with_keys_of(input: &str, keys: &str, is_in: bool) -> RawDocumentBuf {
    let found = rawdoc! { "$in": ["$$one.k", keys] };
    let cond = match is_in {
        true => found,
        false => rawdoc! { "$not": [found] },
    };
    rawdoc! { "$filter": { "input": input, "as": "one", "cond": cond } }
}

/// A field that is a list, or an empty one.
fn list(field: &str) -> RawDocumentBuf {
    rawdoc! { "$cond": [{ "$isArray": field }, field, []] }
}

/// The texts, or else the numbers, of the list `input`.
fn of_type(input: &str, is_text: bool) -> RawDocumentBuf {
    let type_of = rawdoc! { "$type": "$$one.v" };
    let cond = match is_text {
        true => rawdoc! { "$eq": [type_of, "string"] },
        false => rawdoc! { "$ne": [type_of, "string"] },
    };
    rawdoc! { "$filter": { "input": input, "as": "one", "cond": cond } }
}

/// `$let` of `vars`, with `inside` over them.
fn with(vars: RawDocumentBuf, inside: RawDocumentBuf) -> RawDocumentBuf {
    rawdoc! { "$let": { "vars": vars, "in": inside } }
}

/// The first [`ATTRIBUTES_MAX`] texts of `$$texts`, each with its number of
/// `$$numbers`, sorted by key; not there where there is none.
fn bounded(texts: RawDocumentBuf, numbers: RawDocumentBuf) -> RawDocumentBuf {
    let keys_max = i32::try_from(ATTRIBUTES_MAX).unwrap_or(i32::MAX);
    let all = rawdoc! { "$concatArrays": ["$$kept", with_keys_of("$$numbers", "$$kept.k", true)] };
    // Texts sort above numbers.
    let sorted = rawdoc! { "$sortArray": { "input": all, "sortBy": { "k": 1, "v": -1 } } };
    let is_empty = rawdoc! { "$eq": [{ "$size": "$$kept" }, 0] };
    with(
        rawdoc! { "kept": { "$slice": [texts, keys_max] }, "numbers": numbers },
        rawdoc! { "$cond": [is_empty, "$$REMOVE", sorted] },
    )
}

/// The document's attributes with tags merged in by key. Those that people set
/// stay. At the bound known keys are updated, and new ones are not taken.
pub(super) fn merged(told: &Tags) -> RawDocumentBuf {
    let of_same_key = rawdoc! {
        "$first": {
            "$filter": { "input": "$$told", "as": "t", "cond": { "$eq": ["$$t.k", "$$old.k"] } },
        },
    };
    let updated = rawdoc! {
        "$map": {
            "input": "$$texts",
            "as": "old",
            "in": { "$ifNull": [of_same_key, "$$old"] },
        },
    };
    let all = rawdoc! {
        "$concatArrays": [updated, with_keys_of("$$told", "$$texts.k", false)],
    };
    let numbers_of_all = rawdoc! {
        "$concatArrays": [
            with_keys_of("$$oldNumbers", "$$told.k", false),
            with_keys_of("$$toldNumbers", "$$told.k", true),
        ],
    };
    let inner = with(
        rawdoc! {
            "told": with_keys_of("$$all", "$$set", false),
            "texts": of_type("$$there", true),
            "oldNumbers": of_type("$$there", false),
        },
        bounded(all, numbers_of_all),
    );
    with(
        rawdoc! {
            "there": list("$attrs"),
            "set": list("$attrsSet"),
            // A literal: a text that begins with `$` is no path here.
            "all": { "$literal": texts(told) },
            "toldNumbers": { "$literal": numbers(told) },
        },
        inner,
    )
}

/// The document's attributes with those that people set in place of those they
/// set before, and without `removed`; tags stay, but for the same keys.
pub(super) fn replaced(set: &Tags, removed: &[Box<str>]) -> RawDocumentBuf {
    let gone: RawArrayBuf = set
        .iter()
        .map(|(key, _)| key)
        .chain(removed.iter().map(|key| &**key))
        .collect();
    let stays = rawdoc! {
        "$filter": {
            "input": list("$attrs"),
            "as": "one",
            "cond": { "$not": [{ "$in": ["$$one.k", "$$gone"] }] },
        },
    };
    let inner = with(
        rawdoc! { "stay": stays },
        bounded(
            rawdoc! { "$concatArrays": ["$$set", of_type("$$stay", true)] },
            rawdoc! { "$concatArrays": ["$$setNumbers", of_type("$$stay", false)] },
        ),
    );
    with(
        rawdoc! {
            "set": { "$literal": texts(set) },
            "setNumbers": { "$literal": numbers(set) },
            "gone": { "$concatArrays": [{ "$literal": gone }, list("$attrsSet")] },
        },
        inner,
    )
}
