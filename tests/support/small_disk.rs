//! A disk that is full when a test says so: a small file system in memory.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// Bytes that fill the disk are written so many at a time, down to single ones.
const PIECES: [usize; 3] = [64 << 10, 4 << 10, 1];

/// Mounted until it is dropped.
pub(crate) struct SmallDisk {
    path: PathBuf,
    /// The folder it is mounted on, where it is its own; goes after it.
    kept: Option<TempDir>,
}

impl SmallDisk {
    /// A file system of `bytes` at a place of its own. Fails where the machine does not let the test
    /// mount one: a test of full disks that has none proves nothing.
    pub(crate) fn mount(bytes: u64) -> Self {
        let dir = tempfile::Builder::new()
            .prefix("hourglass-disk-")
            .tempdir()
            .unwrap();
        Self::mount_at(dir.path(), bytes).keeping(dir)
    }

    /// A file system of `bytes` at `dir`, which is there.
    pub(crate) fn mount_at(dir: &Path, bytes: u64) -> Self {
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o"]);
        command.arg(format!("size={bytes},mode=0700"));
        let output = command.arg("hourglass-test").arg(dir).output();
        let said = match &output {
            Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
            Err(error) => error.to_string(),
        };
        assert!(
            output.is_ok_and(|output| output.status.success()),
            "tests of a full disk mount a tmpfs, which needs root (CAP_SYS_ADMIN), as in \
             `sudo -E cargo test`: {said}"
        );
        Self {
            path: dir.to_owned(),
            kept: None,
        }
    }

    fn keeping(mut self, dir: TempDir) -> Self {
        self.kept = Some(dir);
        self
    }

    /// Where it is mounted.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn ballast(&self) -> PathBuf {
        self.path.join("ballast")
    }

    /// Fills it to the last byte.
    pub(crate) fn fill(&self) {
        let mut ballast = File::options()
            .create(true)
            .append(true)
            .open(self.ballast())
            .unwrap();
        for piece in PIECES {
            let piece = vec![b'x'; piece];
            loop {
                match ballast.write(&piece) {
                    Ok(1..) => {}
                    Ok(0) => panic!("the disk takes nothing and does not say why"),
                    Err(error) if error.kind() == ErrorKind::StorageFull => break,
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }

    /// Fills it but for about `room` bytes.
    pub(crate) fn fill_but(&self, room: u64) {
        self.fill();
        let ballast = File::options().write(true).open(self.ballast()).unwrap();
        let bytes = ballast.metadata().unwrap().len();
        ballast.set_len(bytes.saturating_sub(room)).unwrap();
    }

    /// Makes the room again that [`SmallDisk::fill`] took.
    pub(crate) fn make_room(&self) {
        fs::remove_file(self.ballast()).unwrap();
    }
}

impl Drop for SmallDisk {
    /// After a failed test too, and while a process still has files open.
    fn drop(&mut self) {
        let unmounted = Command::new("umount")
            .arg("--lazy")
            .arg(self.path())
            .status();
        if !unmounted.is_ok_and(|status| status.success()) {
            eprintln!("{} was not unmounted", self.path().display());
        }
        drop(self.kept.take());
    }
}
