//! What is kept for how long, and which hours that leaves. Pure.

use std::time::Duration;

use crate::config::RetentionSettings;
use crate::model::{HourStart, Keep, Micros, Retention};

/// For how long each tier is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keeps {
    /// Whole buckets.
    pub hours: Keep,
    /// Their readings.
    pub readings: Keep,
}

impl Keeps {
    /// What holds for a sensor: what it says itself, else its site, else the
    /// setting; each tier by itself. Readings are never kept longer than their
    /// hours.
    #[must_use]
    pub fn of(sensor: Retention, site: Retention, setting: Self) -> Self {
        let hours = sensor.hours.or(site.hours).unwrap_or(setting.hours);
        let readings = sensor.readings.or(site.readings);
        let readings = readings.unwrap_or(setting.readings);
        Self {
            hours,
            // `Forever` is the largest.
            readings: readings.min(hours),
        }
    }

    /// Whether everything stays.
    #[must_use]
    pub fn is_forever(self) -> bool {
        self.hours == Keep::Forever && self.readings == Keep::Forever
    }

    /// Which hours are behind these keeps at `now`.
    #[must_use]
    pub fn cutoffs(self, now: Micros) -> Cutoffs {
        let hours = cutoff(self.hours, now);
        Cutoffs {
            hours,
            readings: cutoff(self.readings, now).max(hours),
        }
    }
}

impl From<&RetentionSettings> for Keeps {
    fn from(settings: &RetentionSettings) -> Self {
        Self {
            hours: settings.hours,
            readings: settings.readings,
        }
    }
}

/// The first hours that stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cutoffs {
    /// Buckets of hours before it go.
    pub hours: HourStart,
    /// Readings of hours before it go, and none is taken any more: a bucket
    /// without its readings cannot tell a new one from a repeated one. Never
    /// before `hours`.
    pub readings: HourStart,
}

impl Cutoffs {
    /// Everything stays.
    pub const NONE: Self = Self {
        hours: HourStart::MIN,
        readings: HourStart::MIN,
    };

    /// The same, where readings before `dropped` are gone already.
    #[must_use]
    pub fn after_drop(self, dropped: Option<HourStart>) -> Self {
        Self {
            readings: dropped.map_or(self.readings, |dropped| self.readings.max(dropped)),
            ..self
        }
    }
}

/// The first hour that is kept: all before it lie wholly further back than
/// `keep`.
#[must_use]
pub fn cutoff(keep: Keep, now: Micros) -> HourStart {
    match keep {
        Keep::Forever => HourStart::MIN,
        Keep::Seconds(seconds) => now.earlier_by(Duration::from_secs(seconds)).hour(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DAY: Keep = Keep::Seconds(86_400);
    const WEEK: Keep = Keep::Seconds(604_800);

    fn says(hours: Option<Keep>, readings: Option<Keep>) -> Retention {
        Retention { hours, readings }
    }

    #[test]
    fn the_sensor_precedes_its_site_and_that_the_setting_tier_by_tier() {
        let setting = Keeps {
            hours: Keep::Forever,
            readings: WEEK,
        };
        let none = Retention::default();
        assert_eq!(Keeps::of(none, none, setting), setting);
        let site = says(Some(WEEK), Some(DAY));
        let of = |sensor| Keeps::of(sensor, site, setting);
        assert_eq!(of(none).hours, WEEK);
        assert_eq!(of(none).readings, DAY);
        let forever = of(says(Some(Keep::Forever), None));
        assert_eq!((forever.hours, forever.readings), (Keep::Forever, DAY));
        let all = of(says(Some(Keep::Forever), Some(Keep::Forever)));
        assert_eq!((all.hours, all.readings), (Keep::Forever, Keep::Forever));
    }

    #[test]
    fn readings_never_outlive_their_hours() {
        let none = Retention::default();
        let keeps = Keeps::of(
            says(Some(DAY), Some(Keep::Forever)),
            none,
            Keeps {
                hours: Keep::Forever,
                readings: Keep::Forever,
            },
        );
        assert_eq!(keeps.readings, DAY);
    }

    #[test]
    fn an_hour_goes_once_its_last_instant_is_out_of_time() {
        let end = HourStart::from_hours(490_000).next().start();
        let hour = HourStart::from_hours(490_000);
        let at = |micros: i64| cutoff(DAY, end.saturating_add(86_400_000_000 + micros));
        assert_eq!(at(-1), hour, "its last microsecond is kept");
        assert_eq!(at(0), hour.next());
    }

    fn keeps() -> impl Strategy<Value = Keep> {
        prop_oneof![
            Just(Keep::Forever),
            (3600_u64..100 * 366 * 86_400).prop_map(Keep::Seconds),
            Just(Keep::Seconds(u64::MAX)),
        ]
    }

    proptest! {
        /// At any value of the clock: what is younger than it is kept is never
        /// refused, and nothing that is admitted lies in an hour that may go.
        #[test]
        fn nothing_admitted_lies_in_an_hour_that_may_go(
            now in Micros::MIN.get()..=Micros::MAX.get(),
            back in 0_i64..200 * 366 * 86_400_000_000,
            hours in keeps(),
            readings in keeps(),
        ) {
            let now = Micros::new(now).unwrap();
            let at = now.saturating_add(-back);
            let none = Retention::default();
            let keeps = Keeps::of(none, none, Keeps { hours, readings });
            let cutoffs = keeps.cutoffs(now);
            let is_admitted = at.hour() >= cutoffs.readings;
            let kept_for = |keep| match keep {
                Keep::Forever => i128::MAX,
                Keep::Seconds(seconds) => i128::from(seconds) * 1_000_000,
            };
            let age = i128::from(now.since(at));
            if age <= kept_for(keeps.readings) {
                prop_assert!(is_admitted, "{at} at {now}, {keeps:?}");
            }
            let whole_hour = i128::from(now.since(at.hour().next().start()));
            for (cutoff, keep) in [(cutoffs.hours, keeps.hours), (cutoffs.readings, keeps.readings)] {
                if at.hour() < cutoff {
                    prop_assert!(!is_admitted);
                    prop_assert!(whole_hour >= kept_for(keep), "{at} goes at {now}, {keeps:?}");
                }
            }
        }

        /// The clock may step as it likes: an hour that may go then is one that
        /// nothing is admitted to then.
        #[test]
        fn an_hour_that_may_go_never_comes_back_while_time_passes(
            now in 0_i64..1 << 52, later in 0_i64..1 << 50, keep in keeps(),
        ) {
            let now = Micros::new(now).unwrap();
            prop_assert!(cutoff(keep, now) <= cutoff(keep, now.saturating_add(later)));
        }
    }
}
