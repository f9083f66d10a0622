//! Key spaces of the embedded store that do not fit together: all of it is told,
//! nothing of it is changed.

use super::assert_tells;
use super::raw_store::{RawStore, chunk_key, hour_key};
use crate::operation::builders::{count, post};
use crate::support::hourglass::Start;

/// A store with an hour of each of these, of one chunk.
async fn filled(sensors: &[&str]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let hourglass = Start::on(dir.path()).start();
    for sensor in sensors {
        post(&hourglass, sensor, 0..30).await;
    }
    assert!(hourglass.stop().0.success());
    dir
}

/// A line that is told once it is planted in a store with an hour of S1 to S3.
type Kind = (&'static str, fn(&RawStore), &'static [&'static str]);

const KINDS: [Kind; 14] = [
    (
        "an hour record is gone",
        |store| store.remove("hours", &hour_key("S2")),
        &["the chunks of `S2|2026-05-01T10`: 1 chunks have no hour record"],
    ),
    (
        "chunks of an hour that never was",
        |store| {
            let chunk = store.get("chunks", &chunk_key("S2", 1));
            for sequence in [1, 5] {
                store.put("chunks", &chunk_key("S25", sequence), &chunk);
            }
        },
        &["the chunks of `S25|2026-05-01T10`: 2 chunks have no hour record"],
    ),
    (
        "a chunk is gone",
        |store| store.remove("chunks", &chunk_key("S2", 1)),
        &[
            "the chunks of `S2|2026-05-01T10`: its hour record counts 1 chunks and 30 elements, \
           there are 0 and 0",
        ],
    ),
    (
        "a chunk too many",
        |store| {
            let chunk = store.get("chunks", &chunk_key("S2", 1));
            store.put("chunks", &chunk_key("S2", 9), &chunk);
        },
        &[
            "chunk 9 of `S2|2026-05-01T10`: no write so far made it: the hour has rev 1",
            "the chunks of `S2|2026-05-01T10`: its hour record counts 1 chunks and 30 elements, \
           there are 2 and 60",
        ],
    ),
    (
        "a chunk of a later write than there was",
        |store| {
            let chunk = store.get("chunks", &chunk_key("S2", 1));
            store.put("chunks", &chunk_key("S2", 9), &chunk);
            store.remove("chunks", &chunk_key("S2", 1));
        },
        &["chunk 9 of `S2|2026-05-01T10`: no write so far made it: the hour has rev 1"],
    ),
    (
        "keys that are none",
        |store| {
            let chunk = store.get("chunks", &chunk_key("S2", 1));
            store.put("chunks", b"S2", &chunk);
            store.put("chunks", &chunk_key("S2", 1)[..10], &chunk);
            let record = store.get("hours", &hour_key("S2"));
            store.put("hours", b"S2", &record);
        },
        &[
            "a chunk under the key `S2`: its key names no sensor, hour and sequence",
            "a chunk under the key `S2\\x00\\x80\\x07\\x88\\xda\\x00\\x00\\x00`: its key names no",
            "the hour record of `S2`: its key names no sensor and hour",
        ],
    ),
    (
        "an hour record of another version",
        |store| store.edit("hours", &hour_key("S2"), |record| record[0] = 9),
        &["the hour record of `S2|2026-05-01T10`: not understood: it has format 9"],
    ),
    (
        "a chunk of another version",
        |store| store.edit("chunks", &chunk_key("S2", 1), |chunk| chunk[0] = 9),
        &["chunk 1 of `S2|2026-05-01T10`: not understood: it has format 9"],
    ),
    (
        "a flipped bit",
        |store| {
            let mut chunk = store.get("chunks", &chunk_key("S2", 1));
            chunk[7] ^= 1;
            store.put("chunks", &chunk_key("S2", 1), &chunk);
        },
        &["chunk 1 of `S2|2026-05-01T10`: its checksum does not match"],
    ),
    (
        // Its rev is the zigzag behind the format.
        "a rev that no write sets, and a false count behind it",
        |store| {
            store.edit("hours", &hour_key("S2"), |record| {
                record[1] = 0;
                let count = 2 + 8 + 3;
                assert_eq!(record[count], 30);
                record[count] = 31;
            });
        },
        &[
            "the hour record of `S2|2026-05-01T10`: not understood: rev is below 1",
            "S2|2026-05-01T10 count is 31, the readings say 30",
        ],
    ),
    (
        "records of a sensor of another version",
        |store| {
            store.edit("sensors", b"S2", |record| record[0] = 9);
            store.edit("recents", b"S3", |record| record[0] = 9);
        },
        &[
            "the record of sensor `S2`: not understood: it has format 9",
            "the recent readings of sensor `S3`: not understood: it has format 9",
        ],
    ),
    (
        "a sensor is gone",
        |store| store.remove("sensors", b"S2"),
        &[
            "the recent readings of sensor `S2`: there is no record of the sensor",
            "the entry `l",
        ],
    ),
    (
        "an entry of the index is gone",
        |store| {
            let entries = store.keys("index", b"l");
            let entry = entries.iter().find(|entry| entry.ends_with(b"S2")).unwrap();
            store.remove("index", entry);
        },
        &["the record of sensor `S2`: the index lacks 1 of its entries"],
    ),
    (
        "entries of the index too many, a site that is none",
        |store| {
            store.put("index", b"sB1\x00\x01S2", b"");
            store.put("index", b"strange", b"");
            store.put("sites", b"B1", b"strange");
            store.put("sites", b"\x01", b"");
        },
        &[
            "the entry `sB1\\x00\\x01S2` of the index: the record of its sensor does not say so",
            "the entry `strange` of the index: it names no sensor",
            "the record of site `B1`: its checksum does not match",
            "the record of site `\\x01`: its key is no site",
        ],
    ),
];

fn content(dir: &std::path::Path) -> Vec<(&'static str, Vec<u8>, Vec<u8>)> {
    RawStore::in_data(dir).all()
}

#[tokio::test]
async fn what_does_not_fit_is_told_and_stays_byte_for_byte() {
    for (kind, plant, lines) in KINDS {
        let dir = filled(&["S1", "S2", "S3"]).await;
        let store = RawStore::in_data(dir.path());
        plant(&store);
        store.close();
        let before = content(dir.path());
        for repair in [false, true] {
            let said = assert_tells(dir.path(), "embedded", repair, lines);
            assert!(!said.contains("S1|"), "{kind}: {said}");
            assert!(said.contains(", 0 repaired, "), "{kind}: {said}");
            assert_eq!(content(dir.path()), before, "{kind}: {said}");
        }
        // Nor does it keep a service from what is right.
        let hourglass = Start::on(dir.path()).start();
        assert_eq!(count(&hourglass, "S1").await, 30, "{kind}");
        post(&hourglass, "S1", 30..40).await;
        assert_eq!(count(&hourglass, "S1").await, 40, "{kind}");
        let (_, ready) = hourglass.get("/readyz").await;
        assert_eq!(ready["store"], "up", "{kind}");
        assert!(hourglass.stop().0.success(), "{kind}");
    }
}

/// More hours than a page has, so that findings stand in several.
#[tokio::test]
async fn every_finding_is_told_once_however_many_there_are() {
    let names: Vec<String> = (100..200).map(|n| format!("S{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let dir = filled(&names).await;
    let store = RawStore::in_data(dir.path());
    for name in names.iter().step_by(2) {
        store.remove("hours", &hour_key(name));
    }
    store.close();
    let said = assert_tells(dir.path(), "embedded", true, &[]);
    for (at, name) in names.iter().enumerate() {
        let line = format!("the chunks of `{name}|2026-05-01T10`: 1 chunks have no hour record");
        let told = said.lines().filter(|said| said.starts_with(&line)).count();
        assert_eq!(told, (at + 1) % 2, "{name}: {said}");
    }
    assert!(said.contains("50 buckets with 1500 readings"), "{said}");
    assert!(said.contains("50 buckets damaged"), "{said}");
}
