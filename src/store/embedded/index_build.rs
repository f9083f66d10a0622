//! Making the index of a store that has none: one of an older version.

use fjall::Readable;

use super::database::Database;
use super::errors::library;
use super::index::{self, MARKER};
use super::sensors::read_sensor;
use crate::store::StoreError;

/// Entries removed, or sensors entered, by one batch.
const BATCH_MAX: usize = 1000;

impl Database {
    /// Enters every sensor, once in the life of a store. Where it was cut off it
    /// begins anew; nothing else is written before it is done.
    pub(super) fn build_index(&self) -> Result<(), StoreError> {
        if self.index.contains_key(MARKER).map_err(library)? {
            return Ok(());
        }
        self.clear_index()?;
        let snapshot = self.snapshot();
        let mut sensors = snapshot.iter(&self.sensors).peekable();
        while sensors.peek().is_some() {
            let writer = self.writer()?;
            let mut batch = writer.batch();
            for guard in sensors.by_ref().take(BATCH_MAX) {
                index::update(&mut batch, &self.index, None, &read_sensor(guard)?);
            }
            writer.commit(batch)?;
        }
        let writer = self.writer()?;
        let mut batch = writer.batch();
        batch.insert(&self.index, MARKER, []);
        writer.commit(batch)
    }

    /// Removes what a build that was cut off has left.
    fn clear_index(&self) -> Result<(), StoreError> {
        let snapshot = self.snapshot();
        let mut entries = snapshot.iter(&self.index).peekable();
        while entries.peek().is_some() {
            let writer = self.writer()?;
            let mut batch = writer.batch();
            for guard in entries.by_ref().take(BATCH_MAX) {
                batch.remove(&self.index, guard.key().map_err(library)?);
            }
            writer.commit(batch)?;
        }
        Ok(())
    }
}
