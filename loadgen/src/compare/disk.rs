//! What files take on the disk, and how fast it syncs.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use super::CompareError;

/// Unit of `st_blocks` on Linux (stat(2)).
const BLOCK_BYTES: u64 = 512;
/// Between two looks at files.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// Looks in a row that see the same size when files rest.
const LOOKS_AT_REST: u32 = 8;
const LOOKS_MAX: u32 = 240;
const APPEND_BYTES: usize = 4096;
const APPENDS: usize = 1000;
const APPENDING_MAX: Duration = Duration::from_secs(3);

/// Bytes allocated for a folder's files, and for those below it: holes do not
/// count, room that was set aside does.
///
/// # Errors
/// A folder cannot be read. Files that go away meanwhile do not count.
pub fn allocated(folder: &Path) -> Result<u64, CompareError> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder).map_err(CompareError::file(folder))? {
        let path = entry.map_err(CompareError::file(folder))?.path();
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_dir() => {
                bytes += match allocated(&path) {
                    Err(CompareError::File { source, .. })
                        if source.kind() == std::io::ErrorKind::NotFound =>
                    {
                        0
                    }
                    other => other?,
                };
            }
            Ok(found) => bytes += found.blocks() * BLOCK_BYTES,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(CompareError::file(path)(error)),
        }
    }
    Ok(bytes)
}

/// Waits until the files below a folder have kept their size for 4 s, for two
/// minutes at most.
pub(super) async fn files_at_rest(folder: &Path) -> Result<(), CompareError> {
    let (mut size, mut same) = (allocated(folder)?, 0);
    for _ in 0..LOOKS_MAX {
        // Another process: there is no event to wait for.
        tokio::time::sleep(LOOK_AGAIN).await;
        let now = allocated(folder)?;
        same = if now == size { same + 1 } else { 0 };
        size = now;
        if same >= LOOKS_AT_REST {
            break;
        }
    }
    Ok(())
}

/// Times that appending 4 KiB and `fdatasync` take, 1,000 of them or for 3 s.
///
/// # Errors
/// The folder takes no file, or the disk fails.
pub fn append_and_sync(folder: &Path) -> Result<Vec<Duration>, CompareError> {
    let path = folder.join("append");
    let failed = || CompareError::file(&path);
    let mut file = File::create(&path).map_err(failed())?;
    let (page, mut took) = ([b'x'; APPEND_BYTES], Vec::with_capacity(APPENDS));
    let begun = Instant::now();
    while took.len() < APPENDS && begun.elapsed() < APPENDING_MAX {
        let before = Instant::now();
        file.write_all(&page).map_err(failed())?;
        file.sync_data().map_err(failed())?;
        took.push(before.elapsed());
    }
    fs::remove_file(&path).map_err(failed())?;
    Ok(took)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_count_with_all_below_them() {
        let folder = std::env::temp_dir().join(format!("loadgen-disk-{}", std::process::id()));
        let below = folder.join("a/b");
        fs::create_dir_all(&below).unwrap();
        fs::write(folder.join("one"), vec![1; 10_000]).unwrap();
        fs::write(below.join("two"), vec![2; 10_000]).unwrap();
        for file in [folder.join("one"), below.join("two")] {
            File::open(file).unwrap().sync_all().unwrap();
        }
        let bytes = allocated(&folder).unwrap();
        assert!((20_000..200_000).contains(&bytes), "{bytes}");
        assert!(!append_and_sync(&folder).unwrap().is_empty());
        assert!(!folder.join("append").exists());
        fs::remove_dir_all(&folder).unwrap();
    }
}
