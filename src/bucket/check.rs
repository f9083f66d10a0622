//! Invariant I3: computed fields equal what the readings say.

use std::fmt;

use super::{Computed, Stats};
use crate::model::MeasureName;

/// One computed field that is not what the readings say.
#[derive(Debug, Clone, PartialEq)]
pub enum Difference {
    /// `count`.
    Count {
        /// What the document says.
        stated: u64,
        /// What its readings say.
        actual: u64,
    },
    /// A measure that only one side has, or whose fields differ.
    Measure {
        /// Which measure.
        name: MeasureName,
        /// What the document says.
        stated: Option<Stats>,
        /// What its readings say.
        actual: Option<Stats>,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count { stated, actual } => {
                write!(f, "count is {stated}, the readings say {actual}")
            }
            Self::Measure {
                name,
                stated,
                actual,
            } => {
                write!(f, "computed.{name} is ")?;
                write_stats(f, stated.as_ref())?;
                f.write_str(", the readings say ")?;
                write_stats(f, actual.as_ref())
            }
        }
    }
}

fn write_stats(f: &mut fmt::Formatter<'_>, stats: Option<&Stats>) -> fmt::Result {
    match stats {
        None => f.write_str("absent"),
        Some(s) => write!(
            f,
            "{{count {}, sum {}, min {}, max {}}}",
            s.count,
            s.sum.value(),
            s.min,
            s.max
        ),
    }
}

/// Every difference between stated computed fields and `actual`, which was
/// recomputed from readings. `magnitude` gives the sum of |values| of a
/// measure: a stated sum may be off by 1e-12 of it.
#[must_use]
pub fn check(
    stated: &Computed,
    actual: &Computed,
    magnitude: impl Fn(&MeasureName) -> f64,
) -> Vec<Difference> {
    let mut differences = Vec::new();
    if stated.count != actual.count {
        differences.push(Difference::Count {
            stated: stated.count,
            actual: actual.count,
        });
    }
    let names = stated.measures.keys().chain(
        actual
            .measures
            .keys()
            .filter(|name| !stated.measures.contains_key(*name)),
    );
    for name in names {
        let (ours, theirs) = (stated.measures.get(name), actual.measures.get(name));
        let same = match (ours, theirs) {
            (Some(a), Some(b)) => {
                a.count == b.count
                    && a.min == b.min
                    && a.max == b.max
                    && (a.sum.value() - b.sum.value()).abs() <= 1e-12 * magnitude(name)
            }
            _ => false,
        };
        if !same {
            differences.push(Difference::Measure {
                name: name.clone(),
                stated: ours.copied(),
                actual: theirs.copied(),
            });
        }
    }
    differences
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bucket::Merge;

    #[test]
    fn every_wrong_field_is_named() {
        let temp = MeasureName::new("temp").unwrap();
        let mut merge = Merge::default();
        merge.add(1, [(&temp, 2.0)]);
        merge.add(2, [(&temp, 3.0)]);
        let actual = merge.computed(0, 2);
        assert_eq!(check(&actual, &actual, |_| 5.0), []);

        let mut wrong = actual.clone();
        wrong.count = 7;
        wrong.measures.insert(temp, Stats::of(2.0));
        let texts: Vec<_> = check(&wrong, &actual, |_| 5.0)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            texts,
            [
                "count is 7, the readings say 2",
                "computed.temp is {count 1, sum 2, min 2, max 2}, \
                 the readings say {count 2, sum 5, min 2, max 3}",
            ]
        );
    }
}
