//! An outcome as bytes, to be given again to whoever asks with the same key.
//! Byte layout in `docs/formats.md`.

use super::Outcome;
use crate::journal::bytes::{Input, Malformed, put_text, put_varint};
use crate::model::{Micros, RejectCode, Rejection};

/// The form of the bytes.
const VERSION: u8 = 1;

/// Bytes of one answer at most. A hundred rejections with long excerpts take
/// some 40 KiB.
const BYTES_MAX: usize = 64 << 10;

impl Outcome {
    /// The outcome as bytes. Of rejections that are too long for it the last
    /// ones are left out, of the outcome too, so that the first answer is the
    /// one that is given again; their counts stay.
    pub fn keep(&mut self) -> Box<[u8]> {
        let mut ends = vec![];
        let mut told = vec![];
        for rejection in &self.rejections {
            put_rejection(&mut told, rejection, &self.rejected_by_code);
            ends.push(told.len());
        }
        let kept = ends.partition_point(|end| *end <= BYTES_MAX);
        self.rejections.truncate(kept);
        told.truncate(kept.checked_sub(1).map_or(0, |last| ends[last]));

        let mut out = vec![VERSION];
        put_varint(&mut out, self.accepted);
        put_varint(&mut out, self.rejected);
        out.extend(self.server_time.get().to_le_bytes());
        put_varint(&mut out, self.rejected_by_code.len() as u64);
        for (code, items) in &self.rejected_by_code {
            put_text(&mut out, code.as_str());
            put_varint(&mut out, *items);
        }
        put_varint(&mut out, kept as u64);
        out.extend(told);
        out.into()
    }

    /// Reads what [`Outcome::keep`] wrote.
    ///
    /// # Errors
    /// [`Malformed`], also where a newer version wrote it.
    pub fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut input = Input::new(bytes);
        if input.u8()? != VERSION {
            return Err(Malformed("unknown version"));
        }
        let (accepted, rejected) = (input.varint()?, input.varint()?);
        let server_time = Micros::new(input.i64()?).map_err(|_| Malformed("time out of range"))?;
        let mut rejected_by_code = Vec::new();
        for _ in 0..input.count(2)? {
            let name = input.text()?;
            let code = RejectCode::ALL.into_iter().find(|c| c.as_str() == name);
            let code = code.ok_or(Malformed("unknown code"))?;
            rejected_by_code.push((code, input.varint()?));
        }
        let mut rejections = Vec::new();
        for _ in 0..input.count(5)? {
            rejections.push(read_rejection(&mut input, &rejected_by_code)?);
        }
        if !input.is_empty() {
            return Err(Malformed("length"));
        }
        Ok(Self {
            accepted,
            rejected,
            rejections,
            rejected_by_code,
            server_time,
        })
    }
}

fn put_rejection(out: &mut Vec<u8>, rejection: &Rejection, codes: &[(RejectCode, u64)]) {
    let code = codes.iter().position(|(code, _)| *code == rejection.code);
    put_varint(
        out,
        code.expect("every rejection is counted by its code") as u64,
    );
    put_varint(out, rejection.index);
    put_varint(out, rejection.line.unwrap_or(0));
    out.push(u8::from(rejection.field.is_some()));
    if let Some(field) = &rejection.field {
        put_text(out, field);
    }
    put_text(out, &rejection.detail);
}

fn read_rejection(
    input: &mut Input<'_>,
    codes: &[(RejectCode, u64)],
) -> Result<Rejection, Malformed> {
    let code = codes[input.index(codes.len())? as usize].0;
    let index = input.varint()?;
    // Lines count from 1.
    let line = Some(input.varint()?).filter(|line| *line > 0);
    let field = match input.u8()? {
        0 => None,
        1 => Some(input.text()?.to_owned()),
        _ => return Err(Malformed("field")),
    };
    Ok(Rejection {
        index,
        line,
        field,
        code,
        detail: input.text()?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(rejections: u64, detail: &str) -> Outcome {
        let rejection = |index| Rejection {
            index,
            line: (index % 2 == 0).then_some(index + 1),
            field: (index % 3 == 0).then(|| "temp".to_owned()),
            code: RejectCode::ALL[(index % 2) as usize],
            detail: detail.to_owned(),
        };
        Outcome {
            accepted: 300,
            rejected: rejections + 7,
            rejections: (0..rejections).map(rejection).collect(),
            rejected_by_code: vec![(RejectCode::ALL[0], rejections), (RejectCode::ALL[1], 7)],
            server_time: Micros::new(1_777_629_600_000_001).unwrap(),
        }
    }

    #[test]
    fn an_outcome_comes_back_as_it_was() {
        for rejections in [0, 1, 100] {
            let mut outcome = outcome(rejections, "é: what was wrong");
            let before = format!("{outcome:?}");
            let bytes = outcome.keep();
            assert_eq!(format!("{outcome:?}"), before);
            assert_eq!(format!("{:?}", Outcome::read(&bytes).unwrap()), before);
            for cut in 0..bytes.len() {
                assert!(Outcome::read(&bytes[..cut]).is_err());
            }
        }
    }

    #[test]
    fn what_is_too_long_to_keep_is_left_out_of_the_first_answer_too() {
        let mut outcome = outcome(100, &"x".repeat(1 << 10));
        let bytes = outcome.keep();
        assert_eq!(outcome.rejections.len(), 63);
        assert_eq!(outcome.rejected, 107);
        assert!(bytes.len() <= BYTES_MAX + 100);
        let again = Outcome::read(&bytes).unwrap();
        assert_eq!(format!("{again:?}"), format!("{outcome:?}"));
    }

    #[test]
    fn damaged_bytes_never_panic() {
        let whole = outcome(9, "detail").keep();
        for at in 0..whole.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] = value;
                drop(Outcome::read(&bytes));
            }
        }
    }
}
