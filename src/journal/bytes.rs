//! Numbers and texts as bytes, the way `docs/formats.md` writes them.

/// Why bytes cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub &'static str);

/// A signed number as an unsigned one, small where it is near 0.
#[must_use]
pub fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

/// Undoes [`zigzag`].
#[must_use]
pub fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}

/// Appends `value` as a varint.
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends `text` as a block.
pub fn put_text(out: &mut Vec<u8>, text: &str) {
    put_varint(out, text.len() as u64);
    out.extend(text.as_bytes());
}

/// Bytes that are read from the front.
#[derive(Debug)]
pub struct Input<'a> {
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    /// All of `bytes`.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Whether all is read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next `bytes`.
    ///
    /// # Errors
    /// [`Malformed`] where there are fewer; so in all of these.
    pub fn take(&mut self, bytes: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self
            .rest
            .split_at_checked(bytes)
            .ok_or(Malformed("cut short"))?;
        self.rest = rest;
        Ok(taken)
    }

    /// One byte.
    ///
    /// # Errors
    /// As [`Input::take`].
    pub fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(self.take(1)?[0])
    }

    /// Eight bytes, little-endian.
    ///
    /// # Errors
    /// As [`Input::take`].
    pub fn u64(&mut self) -> Result<u64, Malformed> {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(self.take(8)?);
        Ok(u64::from_le_bytes(bytes))
    }

    /// Eight bytes, little-endian, signed.
    ///
    /// # Errors
    /// As [`Input::take`].
    pub fn i64(&mut self) -> Result<i64, Malformed> {
        Ok(self.u64()?.cast_signed())
    }

    /// A varint.
    ///
    /// # Errors
    /// As [`Input::take`]; [`Malformed`] beyond 64 bits.
    pub fn varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Malformed("varint too long"))
    }

    /// A number of things of at least `bytes_min` each: never more than fit
    /// into the rest, so that damaged bytes cannot ask for memory.
    ///
    /// # Errors
    /// [`Malformed`] where it is more.
    pub fn count(&mut self, bytes_min: usize) -> Result<usize, Malformed> {
        let count = usize::try_from(self.varint()?).unwrap_or(usize::MAX);
        if count.saturating_mul(bytes_min) > self.rest.len() {
            return Err(Malformed("count beyond the record"));
        }
        Ok(count)
    }

    /// A varint below `below`.
    ///
    /// # Errors
    /// [`Malformed`] where it is not.
    pub fn index(&mut self, below: usize) -> Result<u32, Malformed> {
        let index = self.varint()?;
        if index >= below as u64 {
            return Err(Malformed("index beyond its table"));
        }
        u32::try_from(index).map_err(|_| Malformed("index beyond its table"))
    }

    /// A block of UTF-8.
    ///
    /// # Errors
    /// [`Malformed`] where it is something else.
    pub fn text(&mut self) -> Result<&'a str, Malformed> {
        let bytes = self.count(1)?;
        std::str::from_utf8(self.take(bytes)?).map_err(|_| Malformed("text"))
    }
}
