//! The seam to the file system: what a log needs of a disk, no more. Tests put
//! a disk here that forgets what was not synced, or fails where they say.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// One directory of files.
pub trait Disk: Send + Sync + fmt::Debug + 'static {
    /// Creates a file that must not exist yet.
    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>>;
    /// Opens a file that is there, to append to it.
    fn reopen(&self, name: &str) -> io::Result<Box<dyn DiskFile>>;
    /// Names of all files, in any order.
    fn list(&self) -> io::Result<Vec<String>>;
    /// At most `bytes` from `offset` on; fewer only at the end of the file.
    fn read_at(&self, name: &str, offset: u64, bytes: usize) -> io::Result<Vec<u8>>;
    /// Bytes of the file.
    fn len(&self, name: &str) -> io::Result<u64>;
    /// Cuts a file and syncs it.
    fn truncate(&self, name: &str, len: u64) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Makes created and removed names durable.
    fn sync_names(&self) -> io::Result<()>;
}

/// A file that is appended to.
pub trait DiskFile: Send {
    /// Appends `bytes`.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Makes everything appended durable (`fdatasync`).
    fn sync(&mut self) -> io::Result<()>;
    /// Cuts what was appended last, so that the file has `len` bytes again.
    fn cut(&mut self, len: u64) -> io::Result<()>;
}

/// A directory of the file system.
#[derive(Debug)]
pub struct FsDisk {
    dir: PathBuf,
}

impl FsDisk {
    /// Opens `dir`, creating it with its parents where absent.
    ///
    /// # Errors
    /// What the file system says.
    pub fn open(dir: PathBuf) -> io::Result<Self> {
        create_dir_durably(&dir)?;
        Ok(Self { dir })
    }
}

/// Creates `dir` with its parents where absent, and makes the names that lead to
/// it durable: what is synced in a directory is gone with it otherwise. They are
/// synced whoever made them, as a start may have been killed in between.
///
/// # Errors
/// What the file system says.
pub fn create_dir_durably(dir: &Path) -> io::Result<()> {
    std::fs::create_dir_all(dir)?;
    let dir = dir.canonicalize()?;
    let device = dir.metadata()?.dev();
    for parent in dir.ancestors().skip(1) {
        // What this file system is mounted on was there before.
        if parent.metadata()?.dev() != device {
            break;
        }
        match File::open(parent) {
            Ok(parent) => parent.sync_all()?,
            // Who may not list a directory did not make it.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

struct FsFile(File);

impl Disk for FsDisk {
    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(self.dir.join(name))?;
        Ok(Box::new(FsFile(file)))
    }

    fn reopen(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let file = OpenOptions::new().append(true).open(self.dir.join(name))?;
        Ok(Box::new(FsFile(file)))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.dir)? {
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn read_at(&self, name: &str, offset: u64, bytes: usize) -> io::Result<Vec<u8>> {
        let mut file = File::open(self.dir.join(name))?;
        file.seek(SeekFrom::Start(offset))?;
        let mut read = Vec::new();
        file.take(bytes as u64).read_to_end(&mut read)?;
        Ok(read)
    }

    fn len(&self, name: &str) -> io::Result<u64> {
        Ok(std::fs::metadata(self.dir.join(name))?.len())
    }

    fn truncate(&self, name: &str, len: u64) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(self.dir.join(name))?;
        file.set_len(len)?;
        file.sync_all()
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        std::fs::remove_file(self.dir.join(name))
    }

    fn sync_names(&self) -> io::Result<()> {
        File::open(&self.dir)?.sync_all()
    }
}

impl DiskFile for FsFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn cut(&mut self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }
}
