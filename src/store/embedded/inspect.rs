//! Hour records and chunks side by side, taking nothing for granted: what one key
//! space has and the other lacks, keys that are none, records that do not fit
//! their chunks.

use std::collections::VecDeque;
use std::iter::Peekable;
use std::ops::Bound;

use fjall::{Guard, Keyspace, Readable, Slice, Snapshot};
use futures_util::stream::{self, BoxStream, StreamExt};

use super::EmbeddedStore;
use super::chunk;
use super::database::Database;
use super::errors::library;
use super::hour_record::HourRecord;
use super::keys::{bucket_key, chunk_parts, read_hour_key, readable};
use super::read::part;
use crate::bucket::Elements;
use crate::model::BucketKey;
use crate::store::{Flaw, InspectedBucket, StoreError};

/// A page ends after this many hours …
const PAGE_HOURS_MAX: usize = 32;
/// … or as soon as it has this many values.
const PAGE_VALUES_MAX: usize = 1 << 16;

/// What is said where a part of the store is gone.
const RESTORE: &str = "restore the store's directory from a backup";

type Pair = (Slice, Slice);
type Pairs = Peekable<Box<dyn Iterator<Item = Result<Pair, StoreError>> + Send>>;

/// Where a walk over both key spaces is.
struct Place {
    hours: Bound<Vec<u8>>,
    chunks: Bound<Vec<u8>>,
}

/// What was found and not given yet, and where to go on; `None` at the end.
struct Page {
    items: VecDeque<InspectedBucket>,
    rest: Option<Place>,
}

/// All there is, a page at a time.
pub(super) fn buckets(
    store: EmbeddedStore,
) -> BoxStream<'static, Result<InspectedBucket, StoreError>> {
    let first = Page {
        items: VecDeque::new(),
        rest: Some(Place {
            hours: Bound::Unbounded,
            chunks: Bound::Unbounded,
        }),
    };
    stream::try_unfold(first, move |mut page| {
        let store = store.clone();
        async move {
            loop {
                if let Some(item) = page.items.pop_front() {
                    return Ok(Some((item, page)));
                }
                let Some(place) = page.rest.take() else {
                    return Ok(None);
                };
                page = store
                    .read(move |database| read_page(database, place))
                    .await?;
            }
        }
    })
    .boxed()
}

fn read_page(database: &Database, place: Place) -> Result<Page, StoreError> {
    let snapshot = database.snapshot();
    let mut walk = Walk {
        hours: pairs(&snapshot, &database.hours, place.hours.clone()),
        chunks: pairs(&snapshot, &database.chunks, place.chunks.clone()),
        place,
    };
    let mut items = VecDeque::new();
    let mut values = 0;
    while items.len() < PAGE_HOURS_MAX && values < PAGE_VALUES_MAX {
        let Some(item) = walk.next()? else {
            return Ok(Page { items, rest: None });
        };
        let parts = item.parts.iter();
        values += parts.map(|part| part.elements.value_count()).sum::<usize>();
        items.push_back(item);
    }
    Ok(Page {
        items,
        rest: Some(walk.place),
    })
}

fn pairs(snapshot: &Snapshot, keyspace: &Keyspace, from: Bound<Vec<u8>>) -> Pairs {
    let pairs = snapshot.range::<Vec<u8>, _>(keyspace, (from, Bound::Unbounded));
    let read = |guard: Guard| guard.into_inner().map_err(library);
    let pairs: Box<dyn Iterator<Item = _> + Send> = Box::new(pairs.map(read));
    pairs.peekable()
}

/// The next pair; an error is taken out and given.
fn peek(pairs: &mut Pairs) -> Result<Option<&Pair>, StoreError> {
    if let Some(Err(error)) = pairs.next_if(Result::is_err) {
        return Err(error);
    }
    Ok(pairs.peek().and_then(|pair| pair.as_ref().ok()))
}

struct Walk {
    hours: Pairs,
    chunks: Pairs,
    place: Place,
}

impl Walk {
    /// Of both key spaces what sorts first.
    fn next(&mut self) -> Result<Option<InspectedBucket>, StoreError> {
        let hour = peek(&mut self.hours)?.map(|(key, _)| key.clone());
        let chunk = peek(&mut self.chunks)?.map(|(key, _)| key.clone());
        match (hour, chunk) {
            (None, None) => Ok(None),
            (Some(hour), Some(chunk)) if chunk < hour => self.orphans(&chunk).map(Some),
            (None, Some(chunk)) => self.orphans(&chunk).map(Some),
            (Some(_), _) => self.hour(),
        }
    }

    fn next_chunk(&mut self) -> Result<Option<Pair>, StoreError> {
        let next = self.chunks.next().transpose()?;
        if let Some((key, _)) = &next {
            self.place.chunks = Bound::Excluded(key.to_vec());
        }
        Ok(next)
    }

    /// Chunks of one hour, or one that is of none, without an hour record.
    fn orphans(&mut self, first: &Slice) -> Result<InspectedBucket, StoreError> {
        let Some((hour, _)) = chunk_parts(first) else {
            self.next_chunk()?;
            return Ok(InspectedBucket::flawed(None, no_chunk(first)));
        };
        let hour_key = bucket_key(&hour);
        let mut chunks = 0u64;
        while let Some((key, _)) = peek(&mut self.chunks)? {
            if !(key.starts_with(&hour_key) && chunk_parts(key).is_some()) {
                break;
            }
            self.next_chunk()?;
            chunks += 1;
        }
        let flaw = orphaned(&hour, chunks);
        Ok(InspectedBucket::flawed(Some(hour), flaw))
    }

    fn hour(&mut self) -> Result<Option<InspectedBucket>, StoreError> {
        let Some((key, record)) = self.hours.next().transpose()? else {
            return Ok(None);
        };
        self.place.hours = Bound::Excluded(key.to_vec());
        let mut hour = Hour::of(&key, &record);
        // A key that is none may begin the keys of other hours.
        while hour.key.is_some()
            && let Some((chunk, _)) = peek(&mut self.chunks)?
            && chunk.starts_with(&key)
        {
            if let Some((chunk, bytes)) = self.next_chunk()? {
                hour.add(&chunk, &bytes);
            }
        }
        Ok(Some(hour.finish()))
    }
}

fn no_chunk(key: &[u8]) -> Flaw {
    let what = format!("a chunk under the key `{}`", readable(key));
    Flaw::damaged(what, "its key names no sensor, hour and sequence")
}

fn orphaned(hour: &BucketKey, chunks: u64) -> Flaw {
    let reason = format!("{chunks} chunks have no hour record; {RESTORE}");
    Flaw::damaged(format!("the chunks of `{hour}`"), reason)
}

/// An hour record with the chunks seen so far.
struct Hour {
    /// `None` where the record's key names none.
    key: Option<BucketKey>,
    /// How the hour is called.
    name: String,
    record: Option<HourRecord>,
    elements: Elements,
    chunks: u64,
    /// Whether all chunks so far could be read.
    is_read: bool,
    flaws: Vec<Flaw>,
}

impl Hour {
    fn of(key: &[u8], record: &[u8]) -> Self {
        let mut hour = Self {
            key: read_hour_key(key),
            name: readable(key),
            record: None,
            elements: Elements::default(),
            chunks: 0,
            is_read: true,
            flaws: Vec::new(),
        };
        let what = format!("the hour record of `{}`", hour.name);
        if hour.key.is_none() {
            let flaw = Flaw::damaged(&what, "its key names no sensor and hour");
            hour.flaws.push(flaw);
        }
        match HourRecord::decode(record) {
            Ok(record) => {
                if record.rev < 1 {
                    hour.flaws
                        .push(Flaw::not_understood(&what, "rev is below 1"));
                }
                hour.record = Some(record);
            }
            Err(damage) => hour.flaws.push(damage.flaw(&what)),
        }
        hour
    }

    fn add(&mut self, key: &[u8], bytes: &[u8]) {
        let Some((_, sequence)) = chunk_parts(key) else {
            self.flaws.push(no_chunk(key));
            self.is_read = false;
            return;
        };
        self.chunks += 1;
        let what = format!("chunk {sequence} of `{}`", self.name);
        let rev = self.record.as_ref().map(|record| record.rev);
        let rev = rev.and_then(|rev| u64::try_from(rev).ok());
        if let Some(rev) = rev.filter(|rev| !(1..=*rev).contains(&sequence)) {
            let reason = format!("no write so far made it: the hour has rev {rev}; {RESTORE}");
            self.flaws.push(Flaw::damaged(&what, reason));
        }
        if let Err(damage) = chunk::decode_into(bytes, &mut self.elements) {
            self.flaws.push(damage.flaw(&what));
            self.is_read = false;
        }
    }

    fn finish(mut self) -> InspectedBucket {
        let mut is_whole = self.is_read && self.key.is_some();
        let found = (self.chunks, self.elements.len() as u64);
        let stated = self.record.as_ref().map(|r| (r.chunks, r.elements));
        if let Some((chunks, elements)) = stated
            && self.is_read
            && found != (chunks, elements)
        {
            let reason = format!(
                "its hour record counts {chunks} chunks and {elements} elements, there are {} \
                 and {}; {RESTORE}",
                found.0, found.1
            );
            let what = format!("the chunks of `{}`", self.name);
            self.flaws.push(Flaw::damaged(what, reason));
            is_whole = false;
        }
        let parts: Vec<_> = match self.record {
            Some(record) if is_whole => vec![part(record, self.elements)],
            _ => Vec::new(),
        };
        InspectedBucket {
            key: self.key,
            is_whole: !parts.is_empty(),
            parts,
            flaws: self.flaws,
        }
    }
}

impl Database {
    /// All there is of one bucket.
    pub(super) fn inspect_bucket(
        &self,
        key: &BucketKey,
    ) -> Result<Option<InspectedBucket>, StoreError> {
        let snapshot = self.snapshot();
        let hour_key = bucket_key(key);
        let record = snapshot.get(&self.hours, &hour_key).map_err(library)?;
        let mut hour = record.as_ref().map(|record| Hour::of(&hour_key, record));
        let mut orphans = 0;
        for guard in snapshot.prefix(&self.chunks, &hour_key) {
            let (chunk, bytes) = guard.into_inner().map_err(library)?;
            match &mut hour {
                Some(hour) => hour.add(&chunk, &bytes),
                None => orphans += 1,
            }
        }
        Ok(match hour {
            Some(hour) => Some(hour.finish()),
            None if orphans > 0 => {
                let flaw = orphaned(key, orphans);
                Some(InspectedBucket::flawed(Some(key.clone()), flaw))
            }
            None => None,
        })
    }
}
