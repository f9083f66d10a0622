//! Bytes of records: varints, little-endian numbers, the checksum at the end.

use super::damage::Damage;

/// Appends `value` as LEB128: 7 bits a byte, lowest first, 1 to 10 bytes.
pub(super) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends `value` as a varint in zigzag order (0, -1, 1, -2, …).
pub(super) fn put_zigzag(out: &mut Vec<u8>, value: i64) {
    put_varint(out, ((value << 1) ^ (value >> 63)) as u64);
}

/// Appends a length and the bytes.
pub(super) fn put_block(out: &mut Vec<u8>, block: &[u8]) {
    put_varint(out, block.len() as u64);
    out.extend_from_slice(block);
}

/// Appends a text as a block.
pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_block(out, text.as_bytes());
}

/// Appends `01` and what `put` appends, or `00` where there is nothing.
pub(super) fn put_optional<T>(
    out: &mut Vec<u8>,
    value: Option<T>,
    put: impl FnOnce(&mut Vec<u8>, T),
) {
    out.push(u8::from(value.is_some()));
    if let Some(value) = value {
        put(out, value);
    }
}

/// Appends the CRC-32C of all that stands in `out`.
pub(super) fn seal(out: &mut Vec<u8>) {
    let crc = crc32c::crc32c(out);
    out.extend_from_slice(&crc.to_le_bytes());
}

/// The bytes before the checksum, if it matches.
pub(super) fn unseal(record: &[u8]) -> Result<&[u8], Damage> {
    let (body, crc) = record.split_last_chunk::<4>().ok_or(Damage::Truncated)?;
    if crc32c::crc32c(body) == u32::from_le_bytes(*crc) {
        Ok(body)
    } else {
        Err(Damage::Checksum)
    }
}

/// The format of a sound record, and what is behind it.
pub(super) fn open(record: &[u8]) -> Result<(u8, Reader<'_>), Damage> {
    let mut reader = Reader::new(unseal(record)?);
    Ok((reader.byte()?, reader))
}

/// Reads what the functions above wrote.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Bytes left.
    pub(super) fn left(&self) -> usize {
        self.0.len()
    }

    pub(super) fn byte(&mut self) -> Result<u8, Damage> {
        let (first, rest) = self.0.split_first().ok_or(Damage::Truncated)?;
        self.0 = rest;
        Ok(*first)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Damage> {
        let (first, rest) = self.0.split_first_chunk().ok_or(Damage::Truncated)?;
        self.0 = rest;
        Ok(*first)
    }

    pub(super) fn i64(&mut self) -> Result<i64, Damage> {
        self.array().map(i64::from_le_bytes)
    }

    pub(super) fn f64(&mut self) -> Result<f64, Damage> {
        self.array().map(f64::from_le_bytes)
    }

    pub(super) fn varint(&mut self) -> Result<u64, Damage> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7F);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Damage::Invalid("it holds a number beyond 64 bits"))
    }

    pub(super) fn zigzag(&mut self) -> Result<i64, Damage> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// A number of things that take at least one byte each, so that damaged
    /// bytes never ask for more memory than they are long.
    pub(super) fn count(&mut self) -> Result<usize, Damage> {
        let count = usize::try_from(self.varint()?).unwrap_or(usize::MAX);
        if count <= self.left() {
            Ok(count)
        } else {
            Err(Damage::Truncated)
        }
    }

    /// What [`put_block`] wrote.
    pub(super) fn block(&mut self) -> Result<&'a [u8], Damage> {
        let length = self.count()?;
        let (block, rest) = self.0.split_at_checked(length).ok_or(Damage::Truncated)?;
        self.0 = rest;
        Ok(block)
    }

    /// What [`put_text`] wrote.
    pub(super) fn text(&mut self) -> Result<&'a str, Damage> {
        std::str::from_utf8(self.block()?).map_err(|_| Damage::Invalid("a text is not UTF-8"))
    }

    /// What [`put_optional`] wrote, by a `read` that undoes `put`.
    pub(super) fn optional<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Damage>,
    ) -> Result<Option<T>, Damage> {
        match self.byte()? {
            0 => Ok(None),
            1 => read(self).map(Some),
            _ => Err(Damage::Invalid(
                "it says neither that a field is there nor that it is not",
            )),
        }
    }

    /// That nothing is left.
    pub(super) fn end(self) -> Result<(), Damage> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(Damage::Invalid("bytes are left over behind it"))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_varint_beyond_64_bits_is_refused() {
        let mut bytes = vec![0xFF; 9];
        bytes.push(0x01);
        assert_eq!(Reader::new(&bytes).varint(), Ok(u64::MAX));
        bytes[9] = 0x02;
        assert!(Reader::new(&bytes).varint().is_err());
    }

    #[test]
    fn a_count_beyond_the_bytes_is_refused() {
        let mut bytes = Vec::new();
        put_varint(&mut bytes, u64::MAX);
        assert_eq!(Reader::new(&bytes).count(), Err(Damage::Truncated));
        assert_eq!(Reader::new(&bytes).block(), Err(Damage::Truncated));
    }

    proptest! {
        #[test]
        fn numbers_come_back(unsigned: u64, signed: i64) {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, unsigned);
            put_zigzag(&mut bytes, signed);
            seal(&mut bytes);
            let mut reader = Reader::new(unseal(&bytes).unwrap());
            prop_assert_eq!(reader.varint(), Ok(unsigned));
            prop_assert_eq!(reader.zigzag(), Ok(signed));
            prop_assert_eq!(reader.end(), Ok(()));
        }

        #[test]
        fn a_flipped_bit_breaks_the_seal(mut bytes: Vec<u8>, at: prop::sample::Index, bit in 0u8..8) {
            seal(&mut bytes);
            let at = at.index(bytes.len());
            bytes[at] ^= 1u8 << bit;
            prop_assert_eq!(unseal(&bytes), Err(Damage::Checksum));
        }
    }
}
