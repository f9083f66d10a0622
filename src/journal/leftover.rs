//! Whether a journal that nobody has open holds records. Changes nothing.

use std::io;
use std::path::Path;

use super::frame::SEGMENT_HEADER_BYTES;
use super::log::segment_seq;

/// Whether the segments in `dir` hold anything: a clean stop leaves none of
/// which that is so. `dir` need not exist.
///
/// # Errors
/// When the directory cannot be read.
pub fn holds_records(dir: &Path) -> io::Result<bool> {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let is_segment = entry.file_name().to_str().and_then(segment_seq).is_some();
        if is_segment && entry.metadata()?.len() > SEGMENT_HEADER_BYTES as u64 {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::super::log::segment_name;
    use super::*;

    #[test]
    fn a_segment_holds_records_where_something_follows_its_header() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!holds_records(&dir.path().join("none")).unwrap());
        std::fs::write(dir.path().join("other"), [0; 4096]).unwrap();
        let segment = dir.path().join(segment_name(7));
        std::fs::write(&segment, vec![0; SEGMENT_HEADER_BYTES]).unwrap();
        assert!(!holds_records(dir.path()).unwrap());
        std::fs::write(&segment, vec![0; SEGMENT_HEADER_BYTES + 1]).unwrap();
        assert!(holds_records(dir.path()).unwrap());
    }
}
