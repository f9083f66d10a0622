//! What a pass would drop now, without dropping it.

use super::Sweep;
use super::fleet::{Fleet, Said};
use super::windows::split;
use crate::model::{HourRange, HourStart, Micros, SensorId};
use crate::retention::Cutoffs;
use crate::store::{SensorHoursRange, StoreError};

/// What would go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TierPreview {
    /// Sensors that have any of it.
    pub sensors: u64,
    /// Buckets.
    pub buckets: u64,
    /// Readings in them when they were stored.
    pub readings: u64,
}

/// What would go of one sensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SensorPreview {
    /// Which sensor.
    pub sensor: SensorId,
    /// Its cutoffs.
    pub cutoffs: Cutoffs,
    /// Whole buckets.
    pub hours: TierPreview,
    /// Readings whose computed fields stay.
    pub readings: TierPreview,
}

/// What would go of all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Preview {
    /// Whether all sensors were looked at, as far as was asked.
    pub is_whole: bool,
    /// Sensors that were looked at.
    pub sensors: u64,
    /// Whole buckets.
    pub hours: TierPreview,
    /// Readings whose computed fields stay.
    pub readings: TierPreview,
    /// The first sensors that have something to drop, by id, at most
    /// [`Preview::SENSORS_MAX`]; the one that was asked for in any case.
    pub by_sensor: Vec<SensorPreview>,
}

impl Preview {
    /// Most sensors that are named.
    pub const SENSORS_MAX: usize = 100;
}

/// What one answer may look at.
struct Budget {
    hours_left: i64,
}

impl Sweep {
    /// What a pass would drop at `now`; of `sensor` alone, where given. Ends once
    /// `hours_max` hours were looked at, a sensor counting as one at least.
    ///
    /// # Errors
    /// What the store says.
    pub async fn preview(
        &self,
        sensor: Option<&SensorId>,
        hours_max: u64,
        now: Micros,
    ) -> Result<Preview, StoreError> {
        let store = &*self.parts.store;
        let mut preview = Preview {
            is_whole: true,
            ..Preview::default()
        };
        let mut budget = Budget {
            hours_left: i64::try_from(hours_max).unwrap_or(i64::MAX),
        };
        if let Some(sensor) = sensor {
            if let Some(said) = Fleet::read_one(store, sensor).await? {
                self.add(&mut preview, vec![said], now, &mut budget, true)
                    .await?;
            }
            return Ok(preview);
        }
        let mut fleet = Fleet::default();
        let mut has_unread = false;
        while !fleet.read_sites(store).await? {}
        loop {
            let page = fleet.read_sensors(store).await?;
            has_unread |= !page.unread.is_empty();
            if page.is_end || !preview.is_whole {
                preview.is_whole &= !has_unread;
                return Ok(preview);
            }
            self.add(&mut preview, page.said, now, &mut budget, false)
                .await?;
        }
    }

    async fn add(
        &self,
        preview: &mut Preview,
        page: Vec<Said>,
        now: Micros,
        budget: &mut Budget,
        is_named: bool,
    ) -> Result<(), StoreError> {
        let setting = self.parts.table.setting();
        let bounded: Vec<(Said, Cutoffs)> = page
            .into_iter()
            .map(|said| {
                let cutoffs = said.cutoffs(setting, now);
                (said, cutoffs)
            })
            .collect();
        preview.sensors += bounded.len() as u64;
        budget.hours_left -= bounded.len() as i64;
        let ids: Vec<SensorId> = bounded
            .iter()
            .filter(|(_, cutoffs)| *cutoffs != Cutoffs::NONE)
            .map(|(said, _)| said.sensor.clone())
            .collect();
        let oldest = match ids.is_empty() {
            true => Vec::new(),
            false => self.parts.store.oldest_hours(&ids).await?,
        };
        for (said, cutoffs) in bounded {
            let at = oldest.binary_search_by(|(sensor, _)| sensor.cmp(&said.sensor));
            let oldest = at.ok().and_then(|at| oldest.get(at)).map(|(_, hour)| *hour);
            let mut of_sensor = SensorPreview {
                sensor: said.sensor.clone(),
                cutoffs,
                hours: TierPreview::default(),
                readings: TierPreview::default(),
            };
            if let Some(oldest) = oldest {
                let begin = said.raw_dropped_before.unwrap_or(oldest).max(oldest);
                let begin = begin.max(cutoffs.hours);
                for (tier, from, to) in [
                    (&mut of_sensor.hours, oldest, cutoffs.hours),
                    (&mut of_sensor.readings, begin, cutoffs.readings),
                ] {
                    let is_whole = self.count(&said.sensor, from, to, tier, budget).await?;
                    preview.is_whole &= is_whole;
                }
            }
            preview.hours.add(of_sensor.hours);
            preview.readings.add(of_sensor.readings);
            let has_any = of_sensor.hours.buckets > 0 || of_sensor.readings.buckets > 0;
            if (has_any || is_named) && preview.by_sensor.len() < Preview::SENSORS_MAX {
                preview.by_sensor.push(of_sensor);
            }
        }
        preview.is_whole &= budget.hours_left >= 0;
        Ok(())
    }

    /// Counts what hours `from..to` of a sensor hold, by their computed fields;
    /// whether the budget sufficed.
    async fn count(
        &self,
        sensor: &SensorId,
        from: HourStart,
        to: HourStart,
        tier: &mut TierPreview,
        budget: &mut Budget,
    ) -> Result<bool, StoreError> {
        let hours = HourRange { from, to };
        let mut rest = (!hours.is_empty()).then(|| SensorHoursRange {
            sensor: sensor.clone(),
            hours,
        });
        while let Some(range) = rest.take() {
            if budget.hours_left < 0 {
                return Ok(false);
            }
            let (window, behind) = split(range);
            let sensors = std::slice::from_ref(sensor);
            let found = self.parts.store.hours(sensors, window.hours).await?;
            budget.hours_left -= i64::from(window.hours.to.hours() - window.hours.from.hours());
            tier.buckets += found.len() as u64;
            tier.readings += found.iter().map(|hour| hour.computed.count).sum::<u64>();
            rest = behind;
        }
        tier.sensors = u64::from(tier.buckets > 0);
        Ok(true)
    }
}

impl TierPreview {
    fn add(&mut self, other: Self) {
        self.sensors += other.sensors;
        self.buckets += other.buckets;
        self.readings += other.readings;
    }
}
