//! The run: one thread reads, unpacks and cuts, the other one sends.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{SyncSender, sync_channel};

use super::input::Input;
use super::outcome::{Outcome, Reject};
use super::progress::Progress;
use super::rejects::RejectsFile;
use super::sender::{Sender, Sent};
use super::{
    Chunk, Chunker, Cutter, FileFormat, ImportOptions, InputError, ItemTooLong, SendError, Source,
    Summary,
};

/// Why an import ended early. What was accepted before stays; running it again
/// stores nothing twice.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A file cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A line cannot be sent.
    #[error("{file}:{line}: {error}")]
    TooLong {
        /// Where.
        file: String,
        /// The line.
        line: u64,
        /// Why.
        #[source]
        error: ItemTooLong,
    },
    /// The server does not take a chunk.
    #[error("{file}, from line {line} on: {error}")]
    Send {
        /// Where the chunk stands.
        file: String,
        /// Its first line.
        line: u64,
        /// Why.
        #[source]
        error: SendError,
    },
    /// The file of rejections cannot be written.
    #[error("{}: {error}", .path.display())]
    Rejects {
        /// Which one.
        path: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
}

/// A chunk, and what it takes to send it.
struct Piece {
    /// Place of its file among the sources.
    file: usize,
    chunk: Chunk,
    header: Vec<u8>,
    /// Bytes of the files read by then, as they lie there.
    taken: u64,
}

/// Imports what `options` say. Answers what became of it, also where it ended
/// early.
pub fn run(options: &ImportOptions) -> (Summary, Result<(), ImportError>) {
    let mut summary = Summary::default();
    let result = import(options, &mut summary);
    (summary, result)
}

fn import(options: &ImportOptions, summary: &mut Summary) -> Result<(), ImportError> {
    let bytes_total = bytes_of(&options.sources)?;
    let rejects_failed = |error| ImportError::Rejects {
        path: options.rejects.clone().unwrap_or_default(),
        error,
    };
    let mut rejects = RejectsFile::create(options.rejects.as_deref()).map_err(rejects_failed)?;
    let mut progress = Progress::start(bytes_total);
    let sender = Sender::new(&options.to, options.retry_for, options.again);
    // One chunk waits while one is sent and one is read.
    let (pieces, read) = sync_channel(1);
    let reader = {
        let options = options.clone();
        std::thread::spawn(move || read_all(&options, &pieces))
    };
    let mut result = Ok(());
    for piece in read {
        let sent = piece.and_then(|piece| {
            let taken = piece.taken;
            send(options, &sender, piece, &progress, |outcome, told| {
                summary.count(outcome);
                for reject in told {
                    summary.show(&reject);
                    rejects.write(&reject).map_err(rejects_failed)?;
                }
                Ok(())
            })?;
            progress.reached(taken, summary.accepted, summary.rejected);
            Ok(())
        });
        if sent.is_err() {
            result = sent;
            break;
        }
    }
    progress.finish();
    rejects.flush().map_err(rejects_failed)?;
    // Where sending failed it may wait for standard input, which ends with the
    // process.
    if result.is_ok()
        && let Err(panic) = reader.join()
    {
        std::panic::resume_unwind(panic);
    }
    result
}

/// Sends a chunk, in smaller ones where it is too large; tells `count` what the
/// server says of each.
fn send(
    options: &ImportOptions,
    sender: &Sender,
    piece: Piece,
    progress: &Progress,
    mut count: impl FnMut(&Outcome, Vec<Reject>) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    let (source, format) = &options.sources[piece.file];
    let file = source.to_string();
    let query = options.query(*format);
    let cutter = cutter(options, *format);
    let header_lines = memchr::memchr_iter(b'\n', &piece.header).count() as u64;
    let mut waiting = vec![piece.chunk];
    while let Some(chunk) = waiting.pop() {
        let body = [piece.header.as_slice(), &chunk.bytes].concat();
        let key = sender.key(&query, chunk.offset, &body);
        let sent = sender.send(&query, &key, &body, progress);
        let sent = sent.map_err(|error| ImportError::Send {
            file: file.clone(),
            line: chunk.line,
            error,
        })?;
        let outcome = match sent {
            Sent::Taken(outcome) => outcome,
            Sent::TooLarge(detail) => match halves(&cutter, &chunk) {
                Some((first, second)) => {
                    waiting.extend([second, first]);
                    continue;
                }
                None => Outcome::too_large(detail),
            },
        };
        let told = outcome.rejects(&file, header_lines, chunk.line);
        count(&outcome, told.collect())?;
    }
    Ok(())
}

fn cutter(options: &ImportOptions, format: FileFormat) -> Cutter {
    Cutter::new(options.items(format), options.chunk_bytes)
}

/// Bytes of all files as they lie there, unless one is a pipe. That they are
/// there is known before anything is sent.
fn bytes_of(sources: &[(Source, FileFormat)]) -> Result<Option<u64>, ImportError> {
    let mut total = Some(0);
    for (source, _) in sources {
        let bytes = match source {
            Source::Stdin => None,
            Source::File(path) => {
                let found = std::fs::metadata(path).map_err(|error| InputError {
                    source_name: source.to_string(),
                    error,
                })?;
                found.is_file().then_some(found.len())
            }
        };
        total = total.zip(bytes).map(|(total, bytes)| total + bytes);
    }
    Ok(total)
}

/// Reads all sources in order, until the end or until nobody takes more.
fn read_all(options: &ImportOptions, pieces: &SyncSender<Result<Piece, ImportError>>) {
    let mut before = 0;
    for (file, (source, format)) in options.sources.iter().enumerate() {
        let chunker = Chunker::new(cutter(options, *format));
        let taken = read_one(file, source, chunker, before, |piece| {
            pieces.send(Ok(piece)).is_ok()
        });
        match taken {
            Ok(Some(taken)) => before += taken,
            Ok(None) => return,
            Err(error) => {
                // Whoever does not take it has failed before.
                drop(pieces.send(Err(error)));
                return;
            }
        }
    }
}

/// Reads one source; its bytes, or `None` where nobody takes more.
fn read_one(
    file: usize,
    source: &Source,
    mut chunker: Chunker,
    before: u64,
    mut give: impl FnMut(Piece) -> bool,
) -> Result<Option<u64>, ImportError> {
    let mut input = Input::open(source)?;
    let mut bytes = Vec::new();
    let mut line = 1;
    loop {
        input.read(&mut bytes).map_err(|error| InputError {
            source_name: source.to_string(),
            error,
        })?;
        let is_end = bytes.is_empty();
        chunker.feed(&bytes);
        let taken = input.taken.load(Ordering::Relaxed);
        loop {
            let chunk = chunker
                .next_chunk(is_end)
                .map_err(|error| ImportError::TooLong {
                    file: source.to_string(),
                    line,
                    error,
                })?;
            let Some(chunk) = chunk else {
                break;
            };
            line = chunk.line + memchr::memchr_iter(b'\n', &chunk.bytes).count() as u64;
            let piece = Piece {
                file,
                header: chunker.header().to_vec(),
                chunk,
                taken: before + taken,
            };
            if !give(piece) {
                return Ok(None);
            }
        }
        if is_end {
            return Ok(Some(taken));
        }
    }
}

fn halves(cutter: &Cutter, chunk: &Chunk) -> Option<(Chunk, Chunk)> {
    let (first, second) = cutter.halves(&chunk.bytes)?;
    let second = Chunk {
        bytes: second.to_vec(),
        offset: chunk.offset + first.len() as u64,
        line: chunk.line + memchr::memchr_iter(b'\n', first).count() as u64,
    };
    let first = Chunk {
        bytes: first.to_vec(),
        ..chunk.clone()
    };
    Some((first, second))
}
