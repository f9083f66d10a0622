//! Which write a bucket's pending elements need: into its open part, into a
//! next part, or as its first. Pure.

use crate::bucket::{Computed, Elements, Merge};
use crate::model::BucketKey;
use crate::store::size::{document_overhead, element_bytes};
use crate::store::{BucketVersion, BucketWrite, Expect, WriterId};

/// The last part of a bucket, as the store has it.
#[derive(Debug, Clone)]
pub(crate) struct LastPart {
    pub(crate) version: BucketVersion,
    pub(crate) full: bool,
    pub(crate) bytes: usize,
    pub(crate) computed: Computed,
}

/// A write and what the bucket's last part is after it.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) write: BucketWrite,
    pub(crate) after: LastPart,
    /// Row behind the last one it carries.
    pub(crate) end: usize,
    /// Most bytes of what it carries, as a document.
    pub(crate) bytes: usize,
}

/// Plans the write of the elements from row `from` on, as many as fit, but at
/// least one.
pub(crate) fn plan(
    key: &BucketKey,
    last: Option<&LastPart>,
    merge: &Merge,
    from: usize,
    part_bytes_max: Option<usize>,
    writer: &WriterId,
) -> Planned {
    let elements = merge.elements();
    let bytes_max = part_bytes_max.unwrap_or(usize::MAX);
    let overhead = document_overhead(key, elements.names());
    // What the pending measures that the part does not have yet add to it.
    let grown = |part: &LastPart| {
        let new = elements.names().iter();
        let new = new.filter(|name| !part.computed.measures.contains_key(*name));
        let measures = document_overhead(key, new) - document_overhead(key, []);
        part.bytes + measures
    };
    let first_bytes = element_bytes(elements.get(from));
    let open = last.filter(|part| !part.full && grown(part) + first_bytes <= bytes_max);
    let (expect, version, mut bytes, mut computed) = match (last, open) {
        (_, Some(part)) => {
            let version = BucketVersion {
                rev: part.version.rev + 1,
                by: writer.next(),
                ..part.version
            };
            (
                Expect::Open(part.version),
                version,
                grown(part),
                part.computed.clone(),
            )
        }
        (Some(part), None) => {
            let closing = (!part.full).then(|| BucketVersion {
                rev: part.version.rev + 1,
                by: writer.next(),
                ..part.version
            });
            let version = BucketVersion {
                part: part.version.part + 1,
                rev: 1,
                by: writer.next(),
            };
            let expect = Expect::Next {
                last: part.version,
                closing,
            };
            (expect, version, overhead, Computed::default())
        }
        (None, None) => {
            let version = BucketVersion {
                part: 0,
                rev: 1,
                by: writer.next(),
            };
            (Expect::Absent, version, overhead, Computed::default())
        }
    };
    let before = bytes;
    let end = end_of_fitting(elements, from, &mut bytes, bytes_max);
    merge.add_to(&mut computed, from, end);
    let write = BucketWrite {
        key: key.clone(),
        expect,
        target: version,
        elements: elements.slice(from, end),
        computed: computed.clone(),
    };
    let carried = overhead.saturating_add(bytes - before);
    let after = LastPart {
        version,
        full: false,
        bytes,
        computed,
    };
    Planned {
        write,
        after,
        end,
        bytes: carried,
    }
}

/// Row behind the last one that fits, with at least one, from row `from` on; to
/// `bytes` is added what they take.
fn end_of_fitting(elements: &Elements, from: usize, bytes: &mut usize, bytes_max: usize) -> usize {
    let first = element_bytes(elements.get(from));
    if elements.is_uniform() {
        // All are as large as the first.
        let fit = bytes_max.saturating_sub(*bytes) / first;
        let fit = fit.clamp(1, elements.len() - from);
        *bytes = bytes.saturating_add(fit.saturating_mul(first));
        return from + fit;
    }
    *bytes = bytes.saturating_add(first);
    let mut end = from + 1;
    while end < elements.len() {
        let more = element_bytes(elements.get(end));
        if bytes.saturating_add(more) > bytes_max {
            break;
        }
        *bytes = bytes.saturating_add(more);
        end += 1;
    }
    end
}
