//! Lists of sensors. Every list has an index that gives it in its order, page
//! after page; a list by ranges of an attribute alone is sorted.

use ::mongodb::bson::{Bson, Document, doc};
use ::mongodb::options::Hint;

use super::connection::Connection;
use super::failure::{corrupt, unavailable};
use super::indexes::{SENSORS, attributes_index, seen_index, site_index};
use super::sensor_document::{MICROS_PER_MILLI, date, decode, integer};
use crate::model::{Micros, SensorId};
use crate::store::{
    AttributeFilter, SensorCursor, SensorFilter, StoreError, StoredSensor, UnreadSensor,
};

/// Ids that one command counts.
const COUNTED_AT_ONCE: usize = 10_000;

/// Whole records by id, ordered by id.
pub(super) async fn sensors(
    connection: &Connection,
    sensors: &[SensorId],
) -> Result<Vec<StoredSensor>, StoreError> {
    if sensors.is_empty() {
        return Ok(Vec::new());
    }
    let filter = doc! { "_id": { "$in": ids(sensors) } };
    let by_id = doc! { "_id": 1 };
    list(connection, filter, by_id, None, 0, None, decode).await
}

/// A page of a list, without recent readings.
pub(super) async fn find(
    connection: &Connection,
    filter: &SensorFilter,
    after: Option<&SensorCursor>,
    limit: usize,
) -> Result<Vec<StoredSensor>, StoreError> {
    page(connection, filter, after, limit, decode).await
}

/// A page of all, each record by itself, without recent readings.
pub(super) async fn each(
    connection: &Connection,
    after: Option<&SensorId>,
    limit: usize,
) -> Result<Vec<Result<StoredSensor, UnreadSensor>>, StoreError> {
    let after = after.map(SensorCursor::by_id);
    let each = |document: &Document| {
        Ok(decode(document).map_err(|error| {
            let id = document.get_str("_id").ok();
            let id = id.and_then(|id| SensorId::new(id).ok());
            UnreadSensor { id, error }
        }))
    };
    let all = SensorFilter::default();
    page(connection, &all, after.as_ref(), limit, each).await
}

async fn page<T>(
    connection: &Connection,
    filter: &SensorFilter,
    after: Option<&SensorCursor>,
    limit: usize,
    read: impl Fn(&Document) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let Some(limit) = i64::try_from(limit).ok().filter(|limit| *limit > 0) else {
        return Ok(Vec::new());
    };
    let (query, sort) = query(filter, after);
    let without = Some(doc! { "recent": 0, "recentRev": 0, "recentBy": 0 });
    list(connection, query, sort, hint(filter), limit, without, read).await
}

async fn list<T>(
    connection: &Connection,
    filter: Document,
    sort: Document,
    hint: Option<Document>,
    limit: i64,
    projection: Option<Document>,
    read: impl Fn(&Document) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let ready = connection.ready().await?;
    let find = || {
        let mut find = ready.sensors.find(filter.clone()).sort(sort.clone());
        if let Some(hint) = &hint {
            find = find.hint(Hint::Keys(hint.clone()));
        }
        if let Some(projection) = &projection {
            find = find.projection(projection.clone());
        }
        find.limit(limit)
            .batch_size(u32::MAX >> 1)
            .read_concern(ready.at_one_instant())
    };
    let mut cursor = connection.bounded_read(find).await?;
    let mut sensors = Vec::new();
    while connection.bounded(cursor.advance()).await? {
        let document = cursor.deserialize_current();
        let document = document.map_err(|error| corrupt("a sensor", error.to_string()))?;
        sensors.push(read(&document)?);
    }
    Ok(sensors)
}

fn ids(sensors: &[SensorId]) -> Vec<Bson> {
    let id = |sensor: &SensorId| Bson::String(sensor.as_str().to_owned());
    sensors.iter().map(id).collect()
}

/// The index of a list. Where there is a site and attributes the server tries
/// which of them leaves less.
fn hint(filter: &SensorFilter) -> Option<Document> {
    let has_site = filter.site.is_some();
    match (filter.silent_since, has_site, filter.attributes.is_empty()) {
        (Some(_), _, _) => Some(seen_index()),
        (None, true, true) => Some(site_index()),
        (None, false, false) => Some(attributes_index()),
        _ => None,
    }
}

/// Filter and order of a page.
fn query(filter: &SensorFilter, after: Option<&SensorCursor>) -> (Document, Document) {
    let mut query = Document::new();
    if let Some(site) = &filter.site {
        query.insert("site.id", site.as_str());
    }
    let attributes: Vec<Bson> = filter
        .attributes
        .iter()
        .map(|filter| Bson::Document(doc! { "attrs": { "$elemMatch": element(filter) } }))
        .collect();
    if !attributes.is_empty() {
        query.insert("$and", attributes);
    }
    let Some(since) = filter.silent_since else {
        if let Some(after) = after {
            query.insert("_id", doc! { "$gt": after.id.as_str() });
        }
        return (query, doc! { "_id": 1 });
    };
    let end = ceiling(since);
    match after {
        None => {
            query.insert("lastSeen", doc! { "$lt": end });
        }
        // Two ranges of the index, one behind the other. A condition beside one
        // range would walk again over all that were heard of in one moment: many,
        // where one body brings readings of many sensors.
        Some(after) => {
            let last = date(after.last_seen.unwrap_or(Micros::MIN));
            let of_the_moment = doc! { "$gte": last, "$lte": last, "$lt": end };
            let behind = vec![
                doc! { "lastSeen": of_the_moment, "_id": { "$gt": after.id.as_str() } },
                doc! { "lastSeen": { "$gt": last, "$lt": end } },
            ];
            query.insert("$or", behind);
        }
    }
    (query, doc! { "lastSeen": 1, "_id": 1 })
}

/// The first millisecond at or after `at`: a date is below it where its instant
/// is below `at`.
fn ceiling(at: Micros) -> ::mongodb::bson::DateTime {
    date(at.saturating_add(MICROS_PER_MILLI - 1))
}

/// One element of `attrs` that passes, so that both bounds hold of one element.
fn element(filter: &AttributeFilter) -> Document {
    match filter {
        AttributeFilter::Equals { key, text } => doc! { "k": &**key, "v": &**text },
        AttributeFilter::Prefix { key, prefix } => {
            let mut range = doc! { "$gte": &**prefix };
            match behind(prefix) {
                Some(end) => range.insert("$lt", end),
                None => range.insert("$type", "string"),
            };
            doc! { "k": &**key, "v": range }
        }
        // Bounds of a number match numbers alone.
        AttributeFilter::Between { key, min, max } => doc! {
            "k": &**key,
            "v": {
                "$gte": min.unwrap_or(f64::NEG_INFINITY),
                "$lte": max.unwrap_or(f64::INFINITY),
            },
        },
    }
}

/// The first text behind all that begin with `prefix`; `None` where there is none.
fn behind(prefix: &str) -> Option<String> {
    let mut chars: Vec<char> = prefix.chars().collect();
    while let Some(last) = chars.pop() {
        // Skips the surrogates, which are no characters.
        let next = (u32::from(last) + 1..=u32::from(char::MAX)).find_map(char::from_u32);
        if let Some(next) = next {
            chars.push(next);
            return Some(chars.into_iter().collect());
        }
    }
    None
}

/// How many were heard of, but not at `since` or later.
pub(super) async fn count_silent(
    connection: &Connection,
    since: Micros,
    among: Option<&[SensorId]>,
) -> Result<u64, StoreError> {
    let silent = doc! { "lastSeen": { "$lt": ceiling(since) } };
    let Some(among) = among else {
        return count(connection, silent, seen_index()).await;
    };
    let mut counted = 0;
    for sensors in among.chunks(COUNTED_AT_ONCE) {
        let mut filter = silent.clone();
        filter.insert("_id", doc! { "$in": ids(sensors) });
        counted += count(connection, filter, doc! { "_id": 1 }).await?;
    }
    Ok(counted)
}

async fn count(
    connection: &Connection,
    filter: Document,
    hint: Document,
) -> Result<u64, StoreError> {
    let ready = connection.ready().await?;
    let level = if ready.is_replicated() {
        "majority"
    } else {
        "local"
    };
    let command = doc! {
        "count": SENSORS,
        "query": filter,
        "hint": hint,
        "readConcern": { "level": level },
    };
    let reply = connection
        .bounded(ready.database.run_command(command))
        .await?;
    let counted = reply.get("n").and_then(integer);
    counted
        .and_then(|counted| u64::try_from(counted).ok())
        .ok_or_else(|| unavailable("a count is unreadable"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_with_a_prefix_end_before_the_next_one() {
        assert_eq!(behind("2."), Some("2/".to_owned()));
        assert_eq!(behind("\u{d7ff}"), Some("\u{e000}".to_owned()));
        assert_eq!(behind("a\u{10ffff}"), Some("b".to_owned()));
        assert_eq!(behind("\u{10ffff}"), None);
    }

    #[test]
    fn dates_are_below_the_ceiling_where_their_instants_are_below() {
        let at = |micros| ceiling(Micros::new(micros).unwrap()).timestamp_millis();
        assert_eq!([at(999), at(1000), at(1001)], [1, 1, 2]);
    }
}
