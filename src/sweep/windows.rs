//! What one call drops: bounded windows of hours. Pure.

use std::collections::VecDeque;

use crate::model::{HourRange, HourStart, SensorId};
use crate::store::SensorHoursRange;

/// Most hours of one sensor in a call.
const HOURS_MAX: i32 = 500;

/// Most sensors in a call.
const RANGES_MAX: usize = 1000;

/// Hours of all sensors of a call after which no further sensor is taken: some
/// seconds of work for a store, where all of them have a bucket of full size.
const CALL_HOURS: i64 = 10_000;

/// Hours that are to go, of many sensors.
pub(super) type Queue = VecDeque<SensorHoursRange>;

/// The first window of `range` and what is left behind it.
pub(super) fn split(range: SensorHoursRange) -> (SensorHoursRange, Option<SensorHoursRange>) {
    let HourRange { from, to } = range.hours;
    let end = HourStart::from_hours(from.hours().saturating_add(HOURS_MAX)).min(to);
    let part = |from, to| SensorHoursRange {
        sensor: range.sensor.clone(),
        hours: HourRange { from, to },
    };
    let rest = part(end, to);
    (part(from, end), (!rest.hours.is_empty()).then_some(rest))
}

/// Takes what the next call is about off the queue: one window a sensor, what is
/// left of it goes to the end. `cutoff` says where a sensor's hours end now; they
/// may be kept for longer than when they were queued.
pub(super) fn next_call(
    queue: &mut Queue,
    cutoff: impl Fn(&SensorId) -> HourStart,
) -> Vec<SensorHoursRange> {
    let mut call = Vec::new();
    let mut hours = 0;
    for _ in 0..queue.len().min(RANGES_MAX) {
        if hours >= CALL_HOURS {
            break;
        }
        let Some(mut range) = queue.pop_front() else {
            break;
        };
        range.hours.to = range.hours.to.min(cutoff(&range.sensor));
        if range.hours.is_empty() {
            continue;
        }
        let (window, rest) = split(range);
        hours += i64::from(window.hours.to.hours() - window.hours.from.hours());
        call.push(window);
        queue.extend(rest);
    }
    call
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(sensor: usize, from: i32, to: i32) -> SensorHoursRange {
        SensorHoursRange {
            sensor: SensorId::new(&format!("S{sensor}")).unwrap(),
            hours: HourRange {
                from: HourStart::from_hours(from),
                to: HourStart::from_hours(to),
            },
        }
    }

    fn hours_of(range: &SensorHoursRange) -> i32 {
        range.hours.to.hours() - range.hours.from.hours()
    }

    #[test]
    fn calls_are_bounded_and_together_they_are_all_of_it() {
        let mut queue: Queue = (0..2500).map(|n| range(n, 0, 1)).collect();
        queue.extend((3000..3100).map(|n| range(n, 10, 1310)));
        let mut seen = 0;
        while !queue.is_empty() {
            let call = next_call(&mut queue, |_| HourStart::from_hours(5000));
            assert!(call.len() <= RANGES_MAX);
            let total: i32 = call.iter().map(hours_of).sum();
            assert!(i64::from(total) < CALL_HOURS + i64::from(HOURS_MAX));
            assert!(
                call.iter()
                    .all(|range| (1..=HOURS_MAX).contains(&hours_of(range)))
            );
            seen += total;
        }
        assert_eq!(seen, 2500 + 100 * 1300);
    }

    #[test]
    fn hours_that_are_kept_by_now_do_not_go() {
        let mut queue: Queue = [range(1, 0, 100), range(2, 0, 100)].into();
        let other = SensorId::new("S2").unwrap();
        let call = next_call(&mut queue, |sensor| {
            HourStart::from_hours(if *sensor == other { 40 } else { 0 })
        });
        assert_eq!(call, [range(2, 0, 40)]);
        assert!(queue.is_empty());
    }
}
