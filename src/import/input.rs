//! Files, decompressed as they are read.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Source;

/// Bytes read from a file at once.
const READ_BYTES: usize = 256 << 10;

/// A file could not be read.
#[derive(Debug, thiserror::Error)]
#[error("{source_name}: {error}")]
pub struct InputError {
    /// Which one.
    pub source_name: String,
    /// Why.
    #[source]
    pub error: io::Error,
}

/// An open file: its content, whatever it is packed with, which its first bytes
/// say.
pub(super) struct Input {
    content: Box<dyn Read + Send>,
    /// Bytes of the file that were read, packed as they are.
    pub(super) taken: Arc<AtomicU64>,
}

/// Counts what is read.
struct Counted<R> {
    inner: R,
    taken: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.inner.read(buffer)?;
        self.taken.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}

impl Input {
    /// Opens a source.
    pub(super) fn open(source: &Source) -> Result<Self, InputError> {
        let failed = |error| InputError {
            source_name: source.to_string(),
            error,
        };
        let file: Box<dyn Read + Send> = match source {
            Source::Stdin => Box::new(io::stdin()),
            Source::File(path) => Box::new(File::open(path).map_err(failed)?),
        };
        Self::of(file).map_err(failed)
    }

    fn of(file: Box<dyn Read + Send>) -> io::Result<Self> {
        let taken = Arc::new(AtomicU64::new(0));
        let counted = Counted {
            inner: file,
            taken: Arc::clone(&taken),
        };
        let mut packed = BufReader::with_capacity(READ_BYTES, counted);
        let content: Box<dyn Read + Send> = match first_bytes(&mut packed)? {
            [0x1f, 0x8b, ..] => Box::new(flate2::bufread::MultiGzDecoder::new(packed)),
            [0x28, 0xb5, 0x2f, 0xfd] => Box::new(zstd::Decoder::with_buffer(packed)?),
            _ => Box::new(packed),
        };
        Ok(Self { content, taken })
    }

    /// The next bytes of the content; none at its end.
    pub(super) fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<()> {
        buffer.resize(READ_BYTES, 0);
        loop {
            match self.content.read(buffer) {
                Ok(bytes) => {
                    buffer.truncate(bytes);
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// What says how a file is packed. A pipe may give fewer bytes than there are.
fn first_bytes(packed: &mut BufReader<impl Read>) -> io::Result<[u8; 4]> {
    let mut first = [0; 4];
    let have = packed.fill_buf()?;
    let bytes = have.len().min(first.len());
    first[..bytes].copy_from_slice(&have[..bytes]);
    Ok(first)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const TEXT: &[u8] = b"m,sensor=S1 x=1\n";

    fn content(packed: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut input = Input::of(Box::new(io::Cursor::new(packed)))?;
        let (mut all, mut piece) = (Vec::new(), Vec::new());
        loop {
            input.read(&mut piece)?;
            if piece.is_empty() {
                return Ok(all);
            }
            all.extend_from_slice(&piece);
        }
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn the_first_bytes_say_how_a_file_is_packed() {
        let zstd = zstd::encode_all(TEXT, 1).unwrap();
        let twice = [gzip(TEXT), gzip(TEXT)].concat();
        assert_eq!(content(TEXT.to_vec()).unwrap(), TEXT);
        assert_eq!(content(gzip(TEXT)).unwrap(), TEXT);
        assert_eq!(content(twice).unwrap(), TEXT.repeat(2));
        assert_eq!(
            content([zstd.clone(), zstd].concat()).unwrap(),
            TEXT.repeat(2)
        );
        assert_eq!(content(Vec::new()).unwrap(), b"");
    }

    #[test]
    fn a_packed_file_that_is_cut_off_is_told() {
        let packed = gzip(&TEXT.repeat(100));
        assert!(content(packed[..packed.len() - 9].to_vec()).is_err());
        let packed = zstd::encode_all(&*TEXT.repeat(100), 1).unwrap();
        assert!(content(packed[..packed.len() - 5].to_vec()).is_err());
    }
}
