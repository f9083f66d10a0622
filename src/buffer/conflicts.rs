//! Refused values, kept for inspection: the newest, bounded in number.

use std::collections::VecDeque;

use crate::bucket::Conflict;
use crate::model::{HourStart, MeasureName, Micros, SensorId};

/// A refused value.
#[derive(Debug, Clone, PartialEq)]
pub struct ConflictRecord {
    /// Whose.
    pub sensor: SensorId,
    /// Of which instant.
    pub at: Micros,
    /// Of which measure.
    pub measure: MeasureName,
    /// The value that stays.
    pub kept: f64,
    /// The value that was refused.
    pub refused: f64,
    /// When the refused value was received.
    pub received_at: Micros,
}

#[derive(Debug)]
pub(super) struct Conflicts {
    records: VecDeque<ConflictRecord>,
    kept_max: usize,
}

impl Conflicts {
    pub(super) fn new(kept_max: usize) -> Self {
        Self {
            records: VecDeque::new(),
            kept_max,
        }
    }

    pub(super) fn push(
        &mut self,
        sensor: &SensorId,
        hour: HourStart,
        received_at: Micros,
        conflict: Conflict,
    ) {
        if self.kept_max == 0 {
            return;
        }
        if self.records.len() == self.kept_max {
            self.records.pop_front();
        }
        self.records.push_back(ConflictRecord {
            sensor: sensor.clone(),
            at: hour.at(conflict.offset),
            measure: conflict.measure,
            kept: conflict.kept,
            refused: conflict.refused,
            received_at,
        });
    }

    pub(super) fn newest_first(&self) -> Vec<ConflictRecord> {
        self.records.iter().rev().cloned().collect()
    }
}
