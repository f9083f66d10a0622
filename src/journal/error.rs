//! Why a log cannot be opened or appended to.

use std::io;

use super::frame;
use super::record::RecordError;

/// What is done where a segment is lost. Moving it away alone would have the start
/// refuse each segment behind it.
const WITHOUT_A_COPY: &str = "without one, \"Damaged journal\" in docs/operations.md tells how to \
                              keep all that is sound";

/// Why a log cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The disk failed.
    #[error("{what} cannot be {doing}: {source}{}", remedy(.source))]
    Disk {
        /// The journal, or which segment of it.
        what: String,
        /// What was tried.
        doing: &'static str,
        /// What the disk said.
        source: io::Error,
    },
    /// A damaged middle: something that was durable is not readable.
    #[error(
        "journal segment {segment} is damaged at byte {offset}: what stands there was durable \
         once, as what follows shows; restore the file from a copy; {WITHOUT_A_COPY}"
    )]
    Damaged {
        /// File name of the segment.
        segment: String,
        /// Where, bytes.
        offset: u64,
    },
    /// A segment of another version of the format.
    #[error(
        "journal segment {segment} has format version {version} (byte 7), this hourglass reads {}; start \
         the version that wrote it, and stop it cleanly",
        frame::SEGMENT_VERSION
    )]
    Version {
        /// File name of the segment.
        segment: String,
        /// Its version.
        version: u8,
    },
    /// Segments do not follow each other.
    #[error(
        "journal segment {segment} starts with record {found} where record {expected} must \
         follow (byte 8): a segment is missing or is called like another; put it back; \
         {WITHOUT_A_COPY}"
    )]
    Gap {
        /// File name of the segment.
        segment: String,
        /// Its first sequence.
        found: u64,
        /// The one that must follow.
        expected: u64,
    },
    /// A record that this build cannot read.
    #[error(
        "journal segment {segment}, byte {offset}: {source}; else restore the file from a copy; \
         {WITHOUT_A_COPY}"
    )]
    Record {
        /// File name of the segment.
        segment: String,
        /// Start of its group, bytes.
        offset: u64,
        /// Why.
        source: RecordError,
    },
}

/// Why a group was not appended.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AppendError {
    /// The disk has no room. Nothing of the group is ever read back, the log is
    /// sound, and the next append may succeed.
    #[error("the journal's disk is full: {0}")]
    NoRoom(String),
    /// A write or sync failed, now or before: nothing can be made durable any
    /// more. Whether the group that failed first is durable is unknown.
    #[error(
        "the journal cannot be written since a write or sync failed ({0}); restart hourglass once the disk is sound"
    )]
    Poisoned(String),
}

fn remedy(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; make room on its disk and start again, nothing is lost"
        }
        _ => "",
    }
}

/// Of one segment, or of all of it.
pub(super) fn failed(segment: Option<&str>, doing: &'static str) -> impl Fn(io::Error) -> LogError {
    move |source| LogError::Disk {
        what: segment.map_or_else(
            || "the journal".to_owned(),
            |name| format!("journal segment {name}"),
        ),
        doing,
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_on_a_full_disk_says_what_to_do() {
        let full = failed(None, "gone on with")(io::ErrorKind::StorageFull.into());
        assert_eq!(
            full.to_string(),
            "the journal cannot be gone on with: no storage space; make room on its disk and start \
             again, nothing is lost"
        );
        let failing = failed(Some("S"), "read")(io::Error::other("it is bad"));
        assert_eq!(
            failing.to_string(),
            "journal segment S cannot be read: it is bad"
        );
    }
}
