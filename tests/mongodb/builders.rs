//! Writes and keys for these tests.

use std::sync::{Arc, Mutex};

use hourglass::bucket::{Computed, Elements, Merge};
use hourglass::model::{
    BucketKey, HourStart, MeasureName, Micros, Retention, SensorDetails, SensorId, Site, SiteId,
    Tags,
};
use hourglass::store::mongodb::{MongoSettings, MongoStore};
use hourglass::store::{
    BucketVersion, BucketWrite, Expect, RecordVersion, SensorPut, SensorTold, Store, WriteOutcome,
};
use mongodb::bson::Document;
use mongodb::event::EventHandler;
use mongodb::event::command::CommandEvent;

/// 2026-05-01T10:00:00Z in hours since the epoch.
pub(super) const HOUR: i32 = 493_786;

pub(super) fn sensor(id: &str) -> SensorId {
    SensorId::new(id).unwrap()
}

pub(super) fn measure(name: &str) -> MeasureName {
    MeasureName::new(name).unwrap()
}

pub(super) fn key(id: &str, hour: i32) -> BucketKey {
    BucketKey {
        sensor: sensor(id),
        hour: HourStart::from_hours(hour),
    }
}

pub(super) fn version(part: u32, rev: i64, by: i64) -> BucketVersion {
    BucketVersion { part, rev, by }
}

/// One value of `temp` at each second of `seconds`.
pub(super) fn temps(seconds: std::ops::Range<u32>) -> Merge {
    let temp = measure("temp");
    let mut merge = Merge::default();
    for second in seconds {
        merge.add(
            second * 1_000_000,
            [(&temp, 20.0 + f64::from(second) / 8.0)],
        );
    }
    merge
}

/// Elements and computed fields of a whole merge.
pub(super) fn contents(merge: &Merge) -> (Elements, Computed) {
    let elements = merge.elements().clone();
    let computed = merge.computed(0, elements.len());
    (elements, computed)
}

pub(super) fn first(key: BucketKey, by: i64, merge: &Merge) -> BucketWrite {
    let (elements, computed) = contents(merge);
    BucketWrite {
        key,
        expect: Expect::Absent,
        target: version(0, 1, by),
        elements,
        computed,
    }
}

/// A write that appends `seconds` to a bucket that holds what came before them.
pub(super) fn next(
    key: BucketKey,
    expected: BucketVersion,
    by: i64,
    seconds: std::ops::Range<u32>,
) -> BucketWrite {
    BucketWrite {
        key,
        expect: Expect::Open(expected),
        target: version(expected.part, expected.rev + 1, by),
        elements: contents(&temps(seconds.clone())).0,
        computed: contents(&temps(0..seconds.end)).1,
    }
}

/// A sensor heard of, in milliseconds since the epoch.
pub(super) fn told(id: &str, millis: i64, attributes: &[(&str, &str)]) -> SensorTold {
    SensorTold {
        sensor: sensor(id),
        last_seen: Some(Micros::new(millis * 1000).unwrap()),
        attributes: Tags::new(attributes.iter().copied()),
        recent: None,
    }
}

pub(super) fn record(rev: i64, by: i64) -> RecordVersion {
    RecordVersion { rev, by }
}

/// What people say first of a sensor.
pub(super) fn put(id: &str, details: SensorDetails) -> SensorPut {
    SensorPut {
        id: sensor(id),
        expect: None,
        target: record(1, 7),
        details,
        attributes_removed: Vec::new(),
    }
}

/// A site that says no more than its name.
pub(super) fn site(id: &str, name: &str) -> Site {
    Site {
        id: SiteId::new(id).unwrap(),
        name: Some(name.into()),
        city: None,
        address: None,
        position: None,
        contacts: Vec::new(),
        time_zone: None,
        notes: None,
        retention: Retention::default(),
    }
}

/// Outcomes as letters: s(tored), f(enced), x (failed).
pub(super) fn letters(outcomes: &[WriteOutcome]) -> String {
    let letter = |outcome: &WriteOutcome| match outcome {
        WriteOutcome::Stored => 's',
        WriteOutcome::Fenced => 'f',
        WriteOutcome::Failed(_) => 'x',
    };
    outcomes.iter().map(letter).collect()
}

pub(super) fn store(uri: &str) -> MongoStore {
    MongoStore::connect(uri, MongoSettings::default()).unwrap()
}

/// Outcomes of writes, as letters.
pub(super) async fn written(store: &MongoStore, writes: &[BucketWrite]) -> String {
    letters(&store.write(writes).await.unwrap())
}

/// Commands that a store sent.
#[derive(Clone, Default)]
pub(super) struct Commands(Arc<Mutex<Vec<Document>>>);

impl Commands {
    /// A store whose commands are noted.
    pub(super) fn store(&self, uri: &str) -> MongoStore {
        let commands = self.clone();
        let settings = MongoSettings {
            command_events: Some(EventHandler::callback(move |event| {
                if let CommandEvent::Started(started) = event {
                    commands.0.lock().unwrap().push(started.command);
                }
            })),
            ..MongoSettings::default()
        };
        MongoStore::connect(uri, settings).unwrap()
    }

    /// The commands since the last call.
    pub(super) fn take(&self) -> Vec<Document> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    /// Their names, since the last call.
    pub(super) fn names(&self) -> Vec<String> {
        let name = |command: &Document| command.keys().next().cloned().unwrap_or_default();
        self.take().iter().map(name).collect()
    }
}
