//! Records of sensors and sites, taking nothing for granted, and what belongs to
//! records of sensors: recent readings, entries of the index.

use std::collections::VecDeque;
use std::ops::Bound;

use fjall::{Guard, Keyspace, Readable, Slice, Snapshot};
use futures_util::stream::{self, BoxStream, StreamExt};

use super::EmbeddedStore;
use super::database::Database;
use super::errors::library;
use super::index;
use super::keys::{read_sensor_id, readable};
use super::{recent_record, sensor_record, site_record};
use crate::model::SiteId;
use crate::store::{Flaw, Inspected, StoreError, StoredSensor, StoredSite};

/// Keys of one page.
const PAGE_KEYS: usize = 1000;

const NO_SENSOR: &str =
    "there is no record of the sensor; restore the store's directory from a backup";

/// What one key of a key space is about; `None` where nothing is to be said.
type Look<T> = fn(&Database, &Snapshot, &Slice, &Slice) -> Result<Option<Inspected<T>>, StoreError>;

/// Which key space, and how one looks at it.
type Pass<T> = (fn(&Database) -> &Keyspace, Look<T>);

/// All of sensors: their records, then what is of none.
pub(super) fn sensors(
    store: EmbeddedStore,
) -> BoxStream<'static, Result<Inspected<StoredSensor>, StoreError>> {
    let passes: [Pass<StoredSensor>; 3] = [
        (|database| &database.sensors, sensor),
        (|database| &database.recents, recent),
        (|database| &database.index, entry),
    ];
    let passes = passes.map(|pass| records(store.clone(), pass));
    stream::iter(passes).flatten().boxed()
}

/// All sites.
pub(super) fn sites(
    store: EmbeddedStore,
) -> BoxStream<'static, Result<Inspected<StoredSite>, StoreError>> {
    records(store, (|database| &database.sites, site))
}

fn records<T: Send + 'static>(
    store: EmbeddedStore,
    (keyspace, look): Pass<T>,
) -> BoxStream<'static, Result<Inspected<T>, StoreError>> {
    type State<T> = (VecDeque<Inspected<T>>, Option<Bound<Vec<u8>>>);
    let first: State<T> = (VecDeque::new(), Some(Bound::Unbounded));
    stream::try_unfold(first, move |(mut items, mut rest)| {
        let store = store.clone();
        async move {
            loop {
                if let Some(item) = items.pop_front() {
                    return Ok(Some((item, (items, rest))));
                }
                let Some(from) = rest.take() else {
                    return Ok(None);
                };
                let page = move |database: &Database| page(database, keyspace, look, from);
                (items, rest) = store.read(page).await?;
            }
        }
    })
    .boxed()
}

/// The next keys, and where to go on.
#[expect(clippy::type_complexity, reason = "it is read in one place, above")]
fn page<T>(
    database: &Database,
    keyspace: fn(&Database) -> &Keyspace,
    look: Look<T>,
    from: Bound<Vec<u8>>,
) -> Result<(VecDeque<Inspected<T>>, Option<Bound<Vec<u8>>>), StoreError> {
    let snapshot = database.snapshot();
    let range = snapshot.range::<Vec<u8>, _>(keyspace(database), (from, Bound::Unbounded));
    let mut items = VecDeque::new();
    let mut last = None;
    let mut keys = 0;
    for guard in range.take(PAGE_KEYS) {
        let (key, record) = Guard::into_inner(guard).map_err(library)?;
        items.extend(look(database, &snapshot, &key, &record)?);
        keys += 1;
        last = Some(Bound::Excluded(key.to_vec()));
    }
    Ok((items, last.filter(|_| keys == PAGE_KEYS)))
}

fn flawed<T>(flaw: Flaw) -> Option<Inspected<T>> {
    Some(Inspected {
        record: None,
        flaws: vec![flaw],
    })
}

fn sensor(
    database: &Database,
    snapshot: &Snapshot,
    key: &Slice,
    record: &Slice,
) -> Result<Option<Inspected<StoredSensor>>, StoreError> {
    let what = format!("the record of sensor `{}`", readable_id(key));
    let Some(id) = read_sensor_id(key) else {
        return Ok(flawed(Flaw::damaged(what, "its key is no sensor")));
    };
    let sensor = match sensor_record::decode(id, record) {
        Ok(sensor) => sensor,
        Err(damage) => return Ok(flawed(damage.flaw(&what))),
    };
    let mut flaws = Vec::new();
    if sensor.version.is_some_and(|version| version.rev < 1) {
        flaws.push(Flaw::not_understood(&what, "rev is below 1"));
    }
    let mut missing = 0;
    for entry in index::entries(&sensor, true) {
        let is_there = snapshot.contains_key(&database.index, &entry);
        missing += u64::from(!is_there.map_err(library)?);
    }
    if missing > 0 {
        let reason = format!("the index lacks {missing} of its entries: lists do not show it");
        flaws.push(Flaw::damaged(&what, reason));
    }
    Ok(Some(Inspected {
        record: Some(sensor),
        flaws,
    }))
}

fn recent(
    database: &Database,
    snapshot: &Snapshot,
    key: &Slice,
    record: &Slice,
) -> Result<Option<Inspected<StoredSensor>>, StoreError> {
    let what = format!("the recent readings of sensor `{}`", readable_id(key));
    match recent_record::decode(record) {
        Err(damage) => return Ok(flawed(damage.flaw(&what))),
        Ok(recent) if recent.version.is_some_and(|version| version.rev < 1) => {
            return Ok(flawed(Flaw::not_understood(what, "rev is below 1")));
        }
        Ok(_) => {}
    }
    let is_there = snapshot.contains_key(&database.sensors, key);
    match is_there.map_err(library)? {
        true => Ok(None),
        false => Ok(flawed(Flaw::damaged(what, NO_SENSOR))),
    }
}

/// An entry is right where the record of its sensor gives it.
fn entry(
    database: &Database,
    snapshot: &Snapshot,
    key: &Slice,
    _: &Slice,
) -> Result<Option<Inspected<StoredSensor>>, StoreError> {
    if **key == *index::MARKER {
        return Ok(None);
    }
    let what = format!("the entry `{}` of the index", readable_id(key));
    let Some(id) = index::read_sensor(key) else {
        return Ok(flawed(Flaw::damaged(what, "it names no sensor")));
    };
    let record = snapshot.get(&database.sensors, id.as_str());
    let Some(record) = record.map_err(library)? else {
        return Ok(flawed(Flaw::damaged(what, NO_SENSOR)));
    };
    // One that cannot be read is told by itself.
    let Ok(sensor) = sensor_record::decode(id, &record) else {
        return Ok(None);
    };
    let reason = "the record of its sensor does not say so";
    match index::entries(&sensor, true).contains(&**key) {
        true => Ok(None),
        false => Ok(flawed(Flaw::damaged(what, reason))),
    }
}

fn site(
    _: &Database,
    _: &Snapshot,
    key: &Slice,
    record: &Slice,
) -> Result<Option<Inspected<StoredSite>>, StoreError> {
    let what = format!("the record of site `{}`", readable_id(key));
    let id = std::str::from_utf8(key).ok();
    let Some(id) = id.and_then(|id| SiteId::new(id).ok()) else {
        return Ok(flawed(Flaw::damaged(what, "its key is no site")));
    };
    let site = match site_record::decode(id, record) {
        Ok(site) => site,
        Err(damage) => return Ok(flawed(damage.flaw(&what))),
    };
    let mut flaws = Vec::new();
    if site.version.rev < 1 {
        flaws.push(Flaw::not_understood(what, "rev is below 1"));
    }
    Ok(Some(Inspected {
        record: Some(site),
        flaws,
    }))
}

/// A key that is an id, as people can read it.
fn readable_id(key: &[u8]) -> String {
    match std::str::from_utf8(key) {
        Ok(text) if !text.contains(char::is_control) => text.to_owned(),
        _ => readable(key),
    }
}
