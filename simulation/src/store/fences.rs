//! What is stored, and the fences: those of the MongoDB store. Closing a part
//! and making the next are two steps, and only in a call of several writes is a
//! statement that an earlier try made told from one that somebody else made.

use std::collections::{BTreeMap, VecDeque};

use hourglass::bucket::Elements;
use hourglass::model::{BucketKey, HourRange, MeasureName, Micros, SensorId};
use hourglass::store::size::{document_overhead, element_bytes};
use hourglass::store::{BucketWrite, Expect, PartChange, PartEdit, StoredBucket, StoredPart};

use super::Trouble;
use super::sensors::Sensors;

/// A value that went in.
#[derive(Debug, Clone)]
pub struct Written {
    /// The writer's number.
    pub by: i64,
    pub sensor: SensorId,
    pub at: Micros,
    pub measure: MeasureName,
    pub value: f64,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) buckets: BTreeMap<BucketKey, Vec<StoredPart>>,
    pub(super) sensors: Sensors,
    pub(super) written: Vec<Written>,
    pub(super) troubles: VecDeque<Trouble>,
    pub(super) delayed: VecDeque<BucketWrite>,
    pub(super) away: bool,
    pub(super) pauses: bool,
}

impl State {
    pub(super) fn load(&self, key: &BucketKey) -> Option<StoredBucket> {
        let parts = self.buckets.get(key)?.iter().cloned();
        let parts = parts.map(|part| StoredPart {
            bytes: document_bytes(key, &part.elements),
            ..part
        });
        Some(StoredBucket {
            key: key.clone(),
            parts: parts.collect(),
        })
    }

    /// Closes the last part where the write asks for it; whether the write may
    /// go on.
    pub(super) fn close(&mut self, write: &BucketWrite, knows_own: bool) -> bool {
        let Expect::Next {
            last,
            closing: Some(closing),
        } = write.expect
        else {
            return true;
        };
        let Some(part) = self.part(&write.key, last.part) else {
            return false;
        };
        if part.version == last && !part.full {
            part.version = closing;
            part.full = true;
            return true;
        }
        knows_own && part.version == closing
    }

    /// Makes or extends the part of a write; whether it did.
    pub(super) fn put(&mut self, write: &BucketWrite, knows_own: bool) -> bool {
        let key = &write.key;
        match write.expect {
            Expect::Absent | Expect::Next { .. } => {
                if self.part(key, write.target.part).is_some() {
                    return false;
                }
                let parts = self.buckets.entry(key.clone()).or_default();
                parts.push(StoredPart {
                    version: write.target,
                    full: false,
                    raw_dropped: false,
                    bytes: 0,
                    computed: write.computed.clone(),
                    stray_fields: Vec::new(),
                    elements: write.elements.clone(),
                });
            }
            Expect::Open(expected) => {
                let Some(part) = self.part(key, expected.part) else {
                    return false;
                };
                if part.version != expected || part.full {
                    return knows_own && part.version == write.target;
                }
                part.version = write.target;
                part.computed = write.computed.clone();
                part.elements.extend(&write.elements);
            }
        }
        for element in write.elements.iter() {
            for (measure, value) in element.values() {
                self.written.push(Written {
                    by: write.target.by,
                    sensor: key.sensor.clone(),
                    at: key.hour.at(element.offset),
                    measure: measure.clone(),
                    value,
                });
            }
        }
        true
    }

    /// Changes a part of a bucket; whether it still had the version it must have.
    pub(super) fn edit(&mut self, key: &BucketKey, edit: &PartEdit) -> bool {
        let Some(part) = self.part(key, edit.expected.part) else {
            return false;
        };
        match &edit.change {
            PartChange::Keep => return true,
            _ if part.version != edit.expected => return false,
            PartChange::Replace {
                target,
                elements,
                computed,
            } => {
                part.version = *target;
                part.elements = elements.clone();
                part.computed = computed.clone();
            }
            PartChange::Remove => {
                let parts = self.buckets.remove(key);
                assert_eq!(parts.map(|parts| parts.len()), Some(1));
            }
        }
        true
    }

    fn part(&mut self, key: &BucketKey, part: u32) -> Option<&mut StoredPart> {
        let parts = self.buckets.get_mut(key)?;
        parts.iter_mut().find(|p| p.version.part == part)
    }

    pub(super) fn keys_of(&self, sensor: &SensorId, hours: HourRange) -> Vec<BucketKey> {
        let keys = self.buckets.keys();
        let keys = keys.filter(|key| key.sensor == *sensor && hours.contains(key.hour));
        keys.cloned().collect()
    }
}

/// Size of the document of a part, by the rules of [`hourglass::store::size`].
fn document_bytes(key: &BucketKey, elements: &Elements) -> usize {
    let bytes: usize = elements.iter().map(element_bytes).sum();
    bytes + document_overhead(key, elements.names())
}
