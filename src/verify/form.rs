//! What is wrong with one bucket: its parts among themselves, and the computed
//! fields of each against its readings. Pure.

use std::collections::{BTreeMap, HashMap};

use crate::bucket::{Computed, Difference, Elements, Merge, Stats, check};
use crate::model::{BucketKey, MeasureName};
use crate::store::size::PART_BYTES_LARGEST;
use crate::store::{FlawKind, InspectedBucket, StoredPart};

/// What there is to say of a bucket.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// What this version does not know.
    pub(super) not_understood: Vec<String>,
    /// What is missing or contradicts something else.
    pub(super) damaged: Vec<String>,
    /// Parts with fields that do not follow from the readings.
    pub(super) differing: Vec<Differing>,
    /// Parts that are not closed though others follow: their positions.
    pub(super) unclosed: Vec<usize>,
    /// What is told of them.
    pub(super) unclosed_lines: Vec<String>,
    /// Whether the parts count up from 0, where all could be read.
    pub(super) counts_up: bool,
    /// Readings (instants).
    pub(super) readings: u64,
    /// Parts whose readings were dropped.
    pub(super) dropped: u64,
    /// Parts whose readings were deleted.
    pub(super) empty: u64,
}

/// A part with fields that differ.
#[derive(Debug)]
pub(super) struct Differing {
    /// Its position.
    pub(super) at: usize,
    /// What differs.
    pub(super) lines: Vec<String>,
    /// What the readings say.
    pub(super) actual: Computed,
}

impl Findings {
    /// Whether everything is right.
    pub(super) fn is_clean(&self) -> bool {
        self.not_understood.is_empty()
            && self.damaged.is_empty()
            && self.differing.is_empty()
            && self.unclosed.is_empty()
    }

    /// Looks at a bucket. Where parts are missing or cannot be read, nothing is
    /// said of computed fields: which of its instants a part was the first to
    /// store is told by the parts before it.
    pub(super) fn of(found: &InspectedBucket) -> Self {
        let mut findings = Self::default();
        for flaw in &found.flaws {
            match flaw.kind {
                FlawKind::NotUnderstood => &mut findings.not_understood,
                FlawKind::Damaged => &mut findings.damaged,
            }
            .push(flaw.to_string());
        }
        let Some(key) = &found.key else {
            return findings;
        };
        if !found.is_whole {
            return findings;
        }
        for part in &found.parts {
            findings.size(key, part);
        }
        findings.counts_up = findings.numbers(key, &found.parts);
        if findings.counts_up {
            findings.order(key, &found.parts);
            findings.content(key, &found.parts);
        }
        findings
    }

    fn size(&mut self, key: &BucketKey, part: &StoredPart) {
        if part.bytes > PART_BYTES_LARGEST {
            self.damaged.push(format!(
                "{} has {} bytes; no part is made larger than {PART_BYTES_LARGEST}",
                name(key, part),
                part.bytes
            ));
        }
    }

    /// Whether the parts count up from 0.
    fn numbers(&mut self, key: &BucketKey, parts: &[StoredPart]) -> bool {
        let mut expected = 0;
        for part in parts {
            let number = part.version.part;
            if number != expected {
                let what = match number < expected {
                    true => format!("part {number} stands twice"),
                    false => format!("part {expected} is missing, and part {number} is there"),
                };
                self.damaged.push(format!("{key}: {what}"));
                return false;
            }
            expected = number.saturating_add(1);
        }
        true
    }

    /// All parts but the last are closed, and no two were written by one write.
    /// Dropping readings is one write of many documents.
    fn order(&mut self, key: &BucketKey, parts: &[StoredPart]) {
        let last = parts.len().saturating_sub(1);
        for (at, part) in parts.iter().enumerate().take(last) {
            if !part.full {
                self.unclosed.push(at);
                self.unclosed_lines.push(format!(
                    "{} is not closed, and part {} follows: no query and no flush takes the hour",
                    name(key, part),
                    part.version.part + 1
                ));
            }
        }
        let mut written: BTreeMap<i64, u32> = BTreeMap::new();
        for part in parts.iter().filter(|part| !part.raw_dropped) {
            let version = part.version;
            if let Some(before) = written.insert(version.by, version.part) {
                self.damaged.push(format!(
                    "{key}: parts {before} and {} have the same by {}; every write has its own",
                    version.part, version.by
                ));
            }
        }
    }

    fn content(&mut self, key: &BucketKey, parts: &[StoredPart]) {
        let mut merge = Merge::default();
        let mut repeated = 0;
        let mut is_dropped = false;
        for (at, part) in parts.iter().enumerate() {
            if part.raw_dropped {
                is_dropped = true;
                self.dropped += 1;
                self.damaged.extend(dropped(key, part));
                continue;
            }
            self.empty += u64::from(part.elements.is_empty());
            let wrong = no_reading(&part.elements);
            let from = merge.elements().len();
            for element in part.elements.iter() {
                let (counts, _) = merge.add(element.offset, element.values());
                repeated += counts.duplicates + counts.conflicts;
            }
            let mut actual = merge.computed(from, merge.elements().len());
            self.readings += actual.count;
            if let Some(wrong) = wrong {
                // Fields that follow from it would be none.
                self.damaged.push(format!("{} {wrong}", name(key, part)));
                continue;
            }
            if is_dropped && part.computed.count <= actual.count {
                // Which instants stood first in what was dropped nobody can tell.
                actual.count = part.computed.count;
            }
            let lines = differences(key, part, &actual);
            if !lines.is_empty() {
                self.differing.push(Differing { at, lines, actual });
            }
        }
        if repeated > 0 {
            self.damaged.push(format!(
                "{key}: {repeated} values stand twice; the first of each is what queries show"
            ));
        }
    }
}

/// A part as people call it: by its `_id`.
pub(super) fn name(key: &BucketKey, part: &StoredPart) -> String {
    match part.version.part {
        0 => key.to_string(),
        number => format!("{key}#{number}"),
    }
}

/// The first element that no reading is stored as.
fn no_reading(elements: &Elements) -> Option<String> {
    elements.iter().enumerate().find_map(|(row, element)| {
        if element.values().len() == 0 {
            return Some(format!("has no value in element {row}"));
        }
        let mut values = element.values();
        let (measure, value) = values.find(|(_, value)| !value.is_finite())?;
        Some(format!("has {measure} {value} in element {row}"))
    })
}

/// Of readings that retention dropped only the computed fields are left: what can
/// be said is whether there is anything of which they would be true.
fn dropped(key: &BucketKey, part: &StoredPart) -> Vec<String> {
    let measures = part.computed.measures.iter();
    let mut findings: Vec<String> = measures
        .filter(|(_, stats)| !is_plausible(stats))
        .map(|(measure, _)| format!("computed.{measure} is true of no readings"))
        .collect();
    findings.extend(stray(part));
    if !part.elements.is_empty() {
        findings.push("has readings, and says that they were dropped".to_owned());
    }
    findings
        .iter()
        .map(|finding| format!("{} {finding}", name(key, part)))
        .collect()
}

/// Whether some values have these fields.
fn is_plausible(stats: &Stats) -> bool {
    let (count, sum) = (stats.count as f64, stats.sum.value());
    let rounding = 1e-12 * count * stats.min.abs().max(stats.max.abs());
    stats.count > 0
        && stats.min <= stats.max
        && sum >= count * stats.min - rounding
        && sum <= count * stats.max + rounding
}

fn stray(part: &StoredPart) -> impl Iterator<Item = String> {
    let fields = part.stray_fields.iter();
    fields.map(|field| format!("{field} does not follow from computed"))
}

fn differences(key: &BucketKey, part: &StoredPart, actual: &Computed) -> Vec<String> {
    let mut magnitudes: HashMap<&MeasureName, f64> = HashMap::new();
    for element in part.elements.iter() {
        for (measure, value) in element.values() {
            *magnitudes.entry(measure).or_default() += value.abs();
        }
    }
    let magnitude = |measure: &MeasureName| magnitudes.get(measure).copied().unwrap_or_default();
    check(&part.computed, actual, magnitude)
        .iter()
        .map(Difference::to_string)
        .chain(stray(part))
        .map(|finding| format!("{} {finding}", name(key, part)))
        .collect()
}

#[cfg(test)]
mod tests;
