//! `hourglass verify`: recomputes what derives from readings and from sites, and
//! reports or repairs what differs: computed fields of buckets, the newest readings
//! in the records of sensors, the copies of sites.

mod buckets;
mod copies;
mod recent;

use std::fmt;
use std::time::Duration;

use futures_util::StreamExt;

use crate::store::{SensorCursor, SensorFilter, Store, StoreError, StoredSensor, WriterId};

use copies::Copies;
use recent::Recent;

/// Sensors that one call lists.
const SENSORS_AT_ONCE: usize = 1000;

/// How much later a sensor is looked at again whose newest readings differ: a
/// service that runs stores readings first, and then tells the sensor's record.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Report {
    /// Buckets looked at.
    pub buckets: u64,
    /// Readings (instants) in them.
    pub readings: u64,
    /// Parts with a field that differs.
    pub differing: u64,
    /// Of those, repaired.
    pub repaired: u64,
    /// Parts of which retention dropped the readings.
    pub dropped: u64,
    /// Buckets that could not be read, hold a value twice, or have fields that no
    /// readings have.
    pub damaged: u64,
    /// Sensors looked at.
    pub sensors: u64,
    /// Those whose newest readings are not those of their buckets.
    pub recent_differing: u64,
    /// Of those, repaired.
    pub recent_repaired: u64,
    /// Sensors whose copy of a site is not what the site says.
    pub copies_stale: u64,
    /// Of those, repaired.
    pub copies_repaired: u64,
}

impl Report {
    /// Whether everything is right now.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.differing == self.repaired
            && self.damaged == 0
            && self.recent_differing == self.recent_repaired
            && self.copies_stale == self.copies_repaired
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} buckets with {} readings: {} parts differ, {} repaired, {} buckets damaged, {} \
             parts without readings",
            self.buckets, self.readings, self.differing, self.repaired, self.damaged, self.dropped
        )?;
        write!(
            f,
            "{} sensors: newest readings of {} differ, {} repaired; copies of sites of {} differ, \
             {} repaired",
            self.sensors,
            self.recent_differing,
            self.recent_repaired,
            self.copies_stale,
            self.copies_repaired
        )
    }
}

/// What is done about what is found.
#[derive(Debug)]
pub struct Verify<'a> {
    /// Where.
    pub store: &'a dyn Store,
    /// Whether it is put right.
    pub repair: bool,
    /// Numbers the repairs.
    pub writer: &'a WriterId,
    /// Newest readings that a sensor's record is to keep.
    pub recent_readings: usize,
}

impl Verify<'_> {
    /// Checks every bucket, every sensor and every site; `tell` gets a line per
    /// finding.
    ///
    /// # Errors
    /// When the store cannot be read on.
    pub async fn run(&self, mut tell: impl FnMut(String)) -> Result<Report, StoreError> {
        let mut report = Report::default();
        let mut buckets = self.store.all();
        while let Some(bucket) = buckets.next().await {
            match bucket {
                Ok(bucket) => self.bucket(&bucket, &mut report, &mut tell).await?,
                Err(error @ StoreError::Corrupt { .. }) => {
                    report.damaged += 1;
                    tell(error.to_string());
                }
                Err(error) => return Err(error),
            }
        }
        drop(buckets);
        let mut recent = Recent::default();
        let mut copies = Copies::read(self.store).await?;
        let mut after = None;
        loop {
            let page = self.sensors(after.as_ref()).await?;
            let Some(last) = page.last() else {
                break;
            };
            after = Some(SensorCursor {
                id: last.id.clone(),
                last_seen: None,
            });
            report.sensors += page.len() as u64;
            copies.look_at(&page, &mut report, &mut tell);
            recent.look_at(self, &page).await?;
        }
        if !recent.differing().is_empty() {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        recent.settle(self, &mut report, &mut tell).await?;
        if self.repair {
            copies.repair(self, &mut report, &mut tell).await?;
        }
        Ok(report)
    }

    async fn sensors(&self, after: Option<&SensorCursor>) -> Result<Vec<StoredSensor>, StoreError> {
        let all = SensorFilter::default();
        self.store.find_sensors(&all, after, SENSORS_AT_ONCE).await
    }
}
