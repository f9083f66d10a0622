//! A set of ticks of one sensor.

/// One bit a tick.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    /// Room for the ticks below a number; none is in it.
    pub(super) fn below(ticks: u64) -> Self {
        let words = usize::try_from(ticks.div_ceil(64)).unwrap_or(0);
        Self(vec![0; words])
    }

    /// Adds a tick there is room for.
    pub(super) fn insert(&mut self, tick: u64) {
        let word = usize::try_from(tick / 64).ok();
        if let Some(word) = word.and_then(|word| self.0.get_mut(word)) {
            *word |= 1 << (tick % 64);
        }
    }

    pub(super) fn contains(&self, tick: u64) -> bool {
        let word = usize::try_from(tick / 64).ok();
        word.and_then(|word| self.0.get(word))
            .is_some_and(|word| word & (1 << (tick % 64)) != 0)
    }

    /// Removes what is in another set of the same room.
    pub(super) fn remove_all(&mut self, other: &Self) {
        for (word, gone) in self.0.iter_mut().zip(&other.0) {
            *word &= !gone;
        }
    }

    pub(super) fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    pub(super) fn clear(&mut self) {
        self.0.fill(0);
    }

    /// The ticks in this set or in another of the same room, rising.
    pub(super) fn union<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = u64> + 'a {
        let words = self.0.iter().zip(&other.0).map(|(a, b)| a | b);
        (0u64..).zip(words).flat_map(|(place, word)| {
            (0..64)
                .filter(move |bit| word & (1 << bit) != 0)
                .map(move |bit| place * 64 + bit)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_set() {
        let (mut some, mut others) = (Bits::below(130), Bits::below(130));
        for tick in [0, 63, 64, 129] {
            some.insert(tick);
        }
        for tick in [63, 100] {
            others.insert(tick);
        }
        let all: Vec<u64> = some.union(&others).collect();
        assert_eq!(all, [0, 63, 64, 100, 129]);
        others.remove_all(&some);
        assert!(others.contains(100) && !others.contains(63));
        assert_eq!((some.count(), others.count()), (4, 1));
        others.clear();
        assert_eq!(others, Bits::below(130));
    }
}
