//! A compensated sum.

/// Neumaier's compensated sum: the error stays below 1e-12 of the sum of
/// magnitudes over any bucket (at most 3.6e9 values), in any order.
/// (A. Neumaier, "Rundungsfehleranalyse einiger Verfahren zur Summation
/// endlicher Summen", ZAMM 54, 1974.)
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sum {
    total: f64,
    lost: f64,
}

impl Sum {
    /// A sum that starts from a value known only as one double.
    #[must_use]
    pub fn from_value(value: f64) -> Self {
        Self {
            total: value,
            lost: 0.0,
        }
    }

    /// The running total and what rounding lost of it, to be kept bit for bit.
    #[must_use]
    pub fn parts(self) -> (f64, f64) {
        (self.total, self.lost)
    }

    /// The sum that [`Self::parts`] took apart.
    #[must_use]
    pub fn from_parts(total: f64, lost: f64) -> Self {
        Self { total, lost }
    }

    /// Adds one value.
    pub fn add(&mut self, value: f64) {
        let total = self.total + value;
        if self.total.abs() >= value.abs() {
            self.lost += (self.total - total) + value;
        } else {
            self.lost += (value - total) + self.total;
        }
        self.total = total;
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: Self) {
        self.add(other.total);
        self.lost += other.lost;
    }

    /// The sum as one double.
    #[must_use]
    pub fn value(self) -> f64 {
        self.total + self.lost
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_cancels_leaves_the_small_one() {
        let mut sum = Sum::default();
        for value in [1e16, 1.0, -1e16] {
            sum.add(value);
        }
        assert_eq!(sum.value().to_bits(), 1.0f64.to_bits());
    }

    proptest! {
        /// Exact summation in 128-bit integers of thousandths is the judge.
        #[test]
        fn any_order_is_within_the_bound(
            mut values in proptest::collection::vec(-1_000_000_000i64..1_000_000_000, 1..500),
            split in 0usize..500,
        ) {
            let exact: i128 = values.iter().map(|v| i128::from(*v)).sum();
            let magnitude: f64 = values.iter().map(|v| v.abs() as f64).sum();
            values.sort_unstable_by_key(|v| v.wrapping_mul(0x9E37_79B9_7F4A_7C15u64 as i64));
            let (a, b) = values.split_at(split.min(values.len()));
            let (mut left, mut right) = (Sum::default(), Sum::default());
            a.iter().for_each(|v| left.add(*v as f64));
            b.iter().for_each(|v| right.add(*v as f64));
            left.merge(right);
            prop_assert!((left.value() - exact as f64).abs() <= 1e-12 * magnitude);
        }
    }
}
