//! The file of rejections: one JSON object a line.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::outcome::Reject;

/// Writes rejections, if anybody asked for them.
pub(super) struct RejectsFile(Option<BufWriter<File>>);

impl RejectsFile {
    /// Begins the file anew.
    pub(super) fn create(path: Option<&Path>) -> io::Result<Self> {
        let file = path.map(File::create).transpose()?;
        Ok(Self(file.map(BufWriter::new)))
    }

    pub(super) fn write(&mut self, reject: &Reject) -> io::Result<()> {
        if let Some(file) = &mut self.0 {
            serde_json::to_writer(&mut *file, reject)?;
            file.write_all(b"\n")?;
        }
        Ok(())
    }

    /// What was written is in the file afterwards.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Some(file) => file.flush(),
            None => Ok(()),
        }
    }
}
