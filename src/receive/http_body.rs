//! A request's body: read to its end, decompressed, within limits.
//!
//! Memory stays below the limit plus one read of [`READ_BYTES_MAX`] and, for
//! zstd, its window: the output grows as it comes, and what would pass a limit
//! is dropped at once.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_compression::tokio::bufread::{GzipDecoder, ZstdDecoder};
use async_compression::zstd::DParameter;
use axum::body::{Body, HttpBody};
use bytes::{BufMut, Bytes};
use futures_util::{Stream, StreamExt, stream};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::timeout;
use tokio_util::io::StreamReader;

/// Most bytes decompressed before the limits are looked at again, and before
/// other tasks get their turn.
const READ_BYTES_MAX: usize = 64 << 10;

/// Output from which on the ratio counts. Below it no ratio costs anything.
const RATIO_COUNTS_FROM_BYTES: usize = 1 << 20;

/// A compressed body may be this much larger than what it holds: frames have
/// headers, and noise does not shrink.
const COMPRESSED_SLACK_BYTES: u64 = 64 << 10;

/// Largest zstd window, as a power of two: 8 MiB, what RFC 9659 allows over
/// HTTP. The library's own bound is 128 MiB, which a header of a few bytes
/// could claim.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;

use super::BodyShare;

/// Limits of one body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyLimits {
    /// Most bytes after decompression.
    pub decompressed_bytes_max: usize,
    /// Most bytes of output per byte of input, counted once the output passes
    /// 1 MiB. The default, 600, lies between what readings reach and what bombs
    /// do: gzip makes 20:1 of one sensor at 1 Hz, 170:1 of items of 256 zeros,
    /// 410:1 of one short line 100,000 times, and 1,028:1 of zeros, near the
    /// 1,032:1 that its format allows. zstd has no such bound (31,000:1 of
    /// zeros; 80:1 to 300:1 of readings with times).
    pub ratio_max: u64,
    /// Longest wait for the next bytes.
    pub idle_timeout: Duration,
    /// Longest time for the whole body.
    pub total_timeout: Duration,
}

impl Default for BodyLimits {
    fn default() -> Self {
        Self {
            decompressed_bytes_max: 32 << 20,
            ratio_max: 600,
            idle_timeout: Duration::from_secs(10),
            total_timeout: Duration::from_secs(60),
        }
    }
}

/// Why there is no body to work on.
#[derive(Debug, thiserror::Error)]
pub enum ReceiveError {
    /// More than the limit (413).
    #[error("the body is larger than {limit} bytes (decompressed); send it in smaller ones")]
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// Compressed further than any readings are (413).
    #[error(
        "the body grows to more than {ratio_max} times its compressed size; send it in smaller \
         ones or uncompressed"
    )]
    Bomb {
        /// The limit, in bytes of output per byte of input.
        ratio_max: u64,
    },
    /// A `Content-Encoding` that is not read here (415).
    #[error("the content encoding \"{name}\" is not supported; send gzip, zstd or identity")]
    UnsupportedEncoding {
        /// The header's value.
        name: String,
    },
    /// Not what its `Content-Encoding` says, cut short, or followed by
    /// something else (400).
    #[error("the body cannot be decompressed: {reason}")]
    Damaged {
        /// What the decompressor found.
        reason: String,
    },
    /// Nothing came for too long, or the whole took too long (408).
    #[error("the body did not arrive within {} s", .waited.as_secs_f64())]
    Stalled {
        /// The timeout that passed.
        waited: Duration,
    },
    /// The bodies of all requests together take what they may (503).
    #[error("the bodies of other requests take all the memory they may; send it again later")]
    Busy,
    /// The client went away, or broke the framing of its request.
    #[error("the client went away before its body was read, or broke its framing")]
    Aborted(#[source] axum::Error),
}

/// Reads `body` to its end and undoes `encoding`, the value of
/// `Content-Encoding`: `gzip` (or `x-gzip`), `zstd`, `identity`, in any case.
/// One coding is accepted; lists of two are refused, as nothing is won by
/// compressing twice but room for a bomb in a bomb. What is read is counted
/// in `share`, which lives as long as the bytes.
///
/// # Errors
/// See [`ReceiveError`].
pub async fn read_body(
    body: Body,
    encoding: Option<&str>,
    limits: BodyLimits,
    mut share: BodyShare,
) -> Result<Bytes, ReceiveError> {
    let coding = Coding::parse(encoding)?;
    let limit = limits.decompressed_bytes_max;
    let wire_bytes_max = match coding {
        Coding::Identity => limit as u64,
        Coding::Gzip | Coding::Zstd => limit as u64 + COMPRESSED_SLACK_BYTES,
    };
    if body.size_hint().lower() > wire_bytes_max {
        return Err(ReceiveError::TooLarge { limit });
    }
    let wire_bytes = Arc::new(AtomicU64::new(0));
    let frames = frames(
        body,
        limits.idle_timeout,
        wire_bytes_max,
        wire_bytes.clone(),
    );
    let read = async {
        match coding {
            Coding::Identity => join(frames, &mut share).await,
            Coding::Gzip => {
                let mut decoder = GzipDecoder::new(StreamReader::new(Box::pin(frames)));
                // RFC 1952 section 2.2: a file is one member after the other.
                decoder.multiple_members(true);
                decompress(decoder, limits, &wire_bytes, &mut share).await
            }
            Coding::Zstd => {
                let mut decoder = ZstdDecoder::with_params(
                    StreamReader::new(Box::pin(frames)),
                    &[DParameter::window_log_max(ZSTD_WINDOW_LOG_MAX)],
                );
                decoder.multiple_members(true);
                decompress(decoder, limits, &wire_bytes, &mut share).await
            }
        }
    };
    match timeout(limits.total_timeout, read).await {
        Ok(Ok(bytes)) => Ok(Bytes::from_owner(Held {
            bytes,
            _share: share,
        })),
        Ok(Err(ReadError::Frame(error))) => Err(error.told(limits)),
        Ok(Err(ReadError::Receive(error))) => Err(error),
        Err(_) => Err(ReceiveError::Stalled {
            waited: limits.total_timeout,
        }),
    }
}

/// A body with what it holds of the memory of all.
struct Held {
    bytes: Bytes,
    _share: BodyShare,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Identity,
    Gzip,
    Zstd,
}

impl Coding {
    fn parse(header: Option<&str>) -> Result<Self, ReceiveError> {
        let header = header.unwrap_or_default();
        let mut coding = Self::Identity;
        for name in header.split(',').map(str::trim) {
            let named = match name.to_ascii_lowercase().as_str() {
                "" | "identity" => continue,
                "gzip" | "x-gzip" if coding == Self::Identity => Self::Gzip,
                "zstd" if coding == Self::Identity => Self::Zstd,
                _ => {
                    return Err(ReceiveError::UnsupportedEncoding {
                        name: header.chars().take(64).collect(),
                    });
                }
            };
            coding = named;
        }
        Ok(coding)
    }
}

/// What ends the stream of frames early. It travels through the decompressor
/// inside an [`io::Error`].
#[derive(Debug, thiserror::Error)]
enum FrameError {
    #[error("nothing came in time")]
    Stalled,
    #[error("too many bytes on the wire")]
    TooLarge,
    #[error("the client went away")]
    Aborted(#[source] axum::Error),
}

impl FrameError {
    fn told(self, limits: BodyLimits) -> ReceiveError {
        match self {
            Self::Stalled => ReceiveError::Stalled {
                waited: limits.idle_timeout,
            },
            Self::TooLarge => ReceiveError::TooLarge {
                limit: limits.decompressed_bytes_max,
            },
            Self::Aborted(error) => ReceiveError::Aborted(error),
        }
    }
}

enum ReadError {
    Frame(FrameError),
    Receive(ReceiveError),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        match error.downcast::<FrameError>() {
            Ok(frame) => Self::Frame(frame),
            Err(error) => Self::Receive(ReceiveError::Damaged {
                reason: error.to_string(),
            }),
        }
    }
}

/// The frames of `body`, each within `idle` of the one before and all together
/// within `bytes_max`; `bytes` counts them.
fn frames(
    body: Body,
    idle: Duration,
    bytes_max: u64,
    bytes: Arc<AtomicU64>,
) -> impl Stream<Item = io::Result<Bytes>> {
    stream::try_unfold(body.into_data_stream(), move |mut data| {
        let bytes = bytes.clone();
        async move {
            let frame = timeout(idle, data.next())
                .await
                .map_err(|_| io::Error::other(FrameError::Stalled))?;
            let Some(frame) = frame else {
                return Ok(None);
            };
            let frame = frame.map_err(|error| io::Error::other(FrameError::Aborted(error)))?;
            let length = frame.len() as u64;
            // One task reads and counts: the atomic is only there to be shared.
            if bytes.fetch_add(length, Ordering::Relaxed) + length > bytes_max {
                return Err(io::Error::other(FrameError::TooLarge));
            }
            Ok(Some((frame, data)))
        }
    })
}

/// All frames in one piece; a single one is not copied.
async fn join(
    frames: impl Stream<Item = io::Result<Bytes>>,
    share: &mut BodyShare,
) -> Result<Bytes, ReadError> {
    let mut frames = pin!(frames);
    let Some(first) = frames.next().await.transpose()? else {
        return Ok(Bytes::new());
    };
    hold(share, first.len())?;
    let Some(second) = frames.next().await.transpose()? else {
        return Ok(first);
    };
    let mut joined = Vec::from(first);
    hold(share, joined.len() + second.len())?;
    joined.extend_from_slice(&second);
    while let Some(frame) = frames.next().await.transpose()? {
        hold(share, joined.len() + frame.len())?;
        joined.extend_from_slice(&frame);
    }
    Ok(joined.into())
}

/// Counts a body of `bytes` so far.
fn hold(share: &mut BodyShare, bytes: usize) -> Result<(), ReadError> {
    if share.grow_to(bytes) {
        Ok(())
    } else {
        Err(ReadError::Receive(ReceiveError::Busy))
    }
}

async fn decompress(
    decoder: impl AsyncRead,
    limits: BodyLimits,
    wire_bytes: &AtomicU64,
    share: &mut BodyShare,
) -> Result<Bytes, ReadError> {
    let limit = limits.decompressed_bytes_max;
    let mut decoder = pin!(decoder);
    let mut output = Vec::new();
    loop {
        // A byte beyond the limit is asked for, to tell the end from an excess.
        let wanted = READ_BYTES_MAX.min(limit.saturating_add(1) - output.len());
        if output.len() == output.capacity() {
            // Doubles as a vector would, but not beyond the limit.
            let spare = limit.saturating_add(1) - output.len();
            output.reserve_exact(output.len().max(READ_BYTES_MAX).min(spare));
        }
        if decoder.read_buf(&mut (&mut output).limit(wanted)).await? == 0 {
            return Ok(output.into());
        }
        if output.len() > limit {
            return Err(ReadError::Receive(ReceiveError::TooLarge { limit }));
        }
        hold(share, output.len())?;
        let allowed = wire_bytes
            .load(Ordering::Relaxed)
            .saturating_mul(limits.ratio_max);
        if output.len() > RATIO_COUNTS_FROM_BYTES && output.len() as u64 > allowed {
            let ratio_max = limits.ratio_max;
            return Err(ReadError::Receive(ReceiveError::Bomb { ratio_max }));
        }
        // The decompressor never waits while it has input, so it is told to.
        tokio::task::coop::consume_budget().await;
    }
}

#[cfg(test)]
mod tests;
