//! What stays of a bucket when a range of time is deleted. Pure.

use super::{Computed, Elements, Merge};
use crate::model::{HourStart, TimeRange};

/// What stays of one part.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rest {
    /// In order of arrival.
    pub elements: Elements,
    /// Their computed fields: an instant counts in the part that has it first.
    pub computed: Computed,
    /// Elements that went.
    pub gone: usize,
}

/// Each of `parts` without what lies in `range`, and how many instants went from
/// all of them together.
#[must_use]
pub fn without(parts: &[&Elements], hour: HourStart, range: TimeRange) -> (Vec<Rest>, u64) {
    let (mut stays, mut gone) = (Merge::default(), Merge::default());
    let mut rests = Vec::with_capacity(parts.len());
    for part in parts {
        let from = stays.elements().len();
        let before = gone.elements().len();
        for element in part.iter() {
            let merge = match range.contains(hour.at(element.offset)) {
                true => &mut gone,
                false => &mut stays,
            };
            merge.add(element.offset, element.values());
        }
        let end = stays.elements().len();
        rests.push(Rest {
            elements: stays.elements().slice(from, end),
            computed: stays.computed(from, end),
            gone: gone.elements().len() - before,
        });
    }
    let instants = gone.computed(0, gone.elements().len()).count;
    (rests, instants)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{MeasureName, Micros};

    #[test]
    fn each_part_keeps_what_lies_outside_and_counts_what_it_has_first() {
        let (temp, humidity) = (
            MeasureName::new("temp").unwrap(),
            MeasureName::new("humidity").unwrap(),
        );
        let (mut first, mut second) = (Elements::default(), Elements::default());
        for second_of in [0u32, 1, 2] {
            first.push(second_of * 1_000_000, [(&temp, f64::from(second_of))]);
        }
        second.push(2_000_000, [(&humidity, 50.0)]);
        second.push(3_000_000, [(&temp, 3.0)]);
        let hour = HourStart::from_hours(10);
        let at = |seconds: i64| Micros::new(hour.start().get() + seconds * 1_000_000).unwrap();
        let range = TimeRange {
            from: at(1),
            to: at(2),
        };
        let (rests, instants) = without(&[&first, &second], hour, range);
        assert_eq!(instants, 1);
        assert_eq!([rests[0].gone, rests[1].gone], [1, 0]);
        assert_eq!(rests[0].elements.offsets(), [0, 2_000_000]);
        assert_eq!([rests[0].computed.count, rests[1].computed.count], [2, 1]);
        assert_eq!(rests[1].computed.measures[&humidity].count, 1);

        let (rests, instants) = without(&[&first, &second], hour, TimeRange::ALL);
        assert_eq!(instants, 4);
        assert!(rests.iter().all(|rest| rest.elements.is_empty()));
        assert!(
            rests
                .iter()
                .all(|rest| rest.computed == Computed::default())
        );
    }
}
