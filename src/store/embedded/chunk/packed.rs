//! Columns packed with `pco`, in blocks.

use pco::ChunkConfig;
use pco::data_types::Number;
use pco::standalone::{simple_compress, simple_decompress_into};

use super::super::bytes::{Reader, put_block};
use super::super::damage::Damage;

/// Entries of one block. Bounds the memory that one damaged block can ask for
/// and keeps any hour below what one `pco` chunk holds (2^24).
const BLOCK_ENTRIES_MAX: usize = 1 << 16;

/// Level 4 took 1 to 3 % more bytes than the default 8 on sensor columns at
/// a multiple of its speed.
const LEVEL: usize = 4;

/// Appends `column` to `out`; `false` (and nothing appended) where `pco`
/// refuses, which the caller answers with the plain encoding.
pub(super) fn encode<T: Number>(out: &mut Vec<u8>, column: &[T]) -> bool {
    let start = out.len();
    let config = ChunkConfig::default().with_compression_level(LEVEL);
    for block in column.chunks(BLOCK_ENTRIES_MAX) {
        match simple_compress(block, &config) {
            Ok(bytes) => put_block(out, &bytes),
            Err(_) => {
                out.truncate(start);
                return false;
            }
        }
    }
    true
}

/// Reads `entries` entries.
pub(super) fn decode<T: Number>(reader: &mut Reader<'_>, entries: usize) -> Result<Vec<T>, Damage> {
    let mut column = Vec::new();
    while column.len() < entries {
        let bytes = reader.block()?;
        let start = column.len();
        let block = (entries - start).min(BLOCK_ENTRIES_MAX);
        column.resize(start + block, T::default());
        match simple_decompress_into(bytes, &mut column[start..]) {
            Ok(progress) if progress.finished && progress.n_processed == block => {}
            _ => return Err(Damage::Invalid("a packed column does not unpack")),
        }
    }
    Ok(column)
}
