//! `hourglass verify` by what it finds: each kind is planted by hand in a real
//! store, the real binary tells it, and repairs it or leaves it byte for byte.

mod embedded;
mod ends;
mod live;
mod mongodb;
mod opening;
mod parts;
pub(crate) mod raw_store;
mod records;
mod torn;
mod unrecorded;

use std::path::Path;

use crate::operation::verify::verify;

/// Runs it, which must end with 3 and tell these lines; gives what it said.
#[track_caller]
fn assert_tells(data_dir: &Path, store: &str, repair: bool, lines: &[&str]) -> String {
    let (code, stdout, stderr) = verify(data_dir, store, repair);
    assert_eq!(code, Some(3), "{stdout}{stderr}");
    for line in lines {
        assert!(
            stdout.lines().any(|said| said.starts_with(line)),
            "{line}: {stdout}"
        );
    }
    stdout
}

/// Runs it, which must find nothing, or mend all of it.
#[track_caller]
fn assert_ends_well(data_dir: &Path, store: &str, repair: bool) -> String {
    let (code, stdout, stderr) = verify(data_dir, store, repair);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    stdout
}
