//! How many sensors fell silent.

use super::{Completeness, Query};
use crate::buffer::SensorSeen;
use crate::model::{Micros, SensorId};
use crate::store::StoreError;

/// Sensors of the buffer that one call of the store names.
const SENSORS_AT_ONCE: usize = 10_000;

impl Query {
    /// How many sensors were heard of, but not at `since` or later. `None` while
    /// a backlog waits in the journal: some of them may have been heard there.
    ///
    /// # Errors
    /// What the store says.
    pub async fn count_silent(&self, since: Micros) -> Result<Option<u64>, StoreError> {
        if self.completeness() != Completeness::Complete {
            return Ok(None);
        }
        // Before the store is asked: what it is told in between is in both.
        let untold = self.buffer.seen_untold(None);
        // Mostly there is none, and then none needs to be named.
        let has_silent = self.store.count_silent(since, None).await? > 0;
        let (mut by_store, mut by_both) = (0, 0);
        for untold in untold.chunks(SENSORS_AT_ONCE) {
            if has_silent {
                let ids: Vec<SensorId> = untold.iter().map(|seen| seen.sensor.clone()).collect();
                by_store += self.store.count_silent(since, Some(&ids)).await?;
            }
            by_both += self.count_silent_of(untold, since).await?;
        }
        // Last, so that one that is told in between is not taken for a silent one.
        let all = match has_silent {
            true => self.store.count_silent(since, None).await?,
            false => 0,
        };
        Ok(Some(all.saturating_sub(by_store) + by_both))
    }

    /// How many of `untold` neither the buffer nor the store has heard since.
    async fn count_silent_of(
        &self,
        untold: &[SensorSeen],
        since: Micros,
    ) -> Result<u64, StoreError> {
        let silent = untold.iter().filter(|seen| seen.last_seen < since);
        let ids: Vec<SensorId> = silent.map(|seen| seen.sensor.clone()).collect();
        if ids.is_empty() {
            return Ok(0);
        }
        // Another process may have heard them later.
        let records = self.store.sensors(&ids).await?;
        let heard = records.iter().filter(|r| r.last_seen >= Some(since));
        Ok((ids.len() - heard.count()) as u64)
    }
}
