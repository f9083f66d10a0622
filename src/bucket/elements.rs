//! Elements of a bucket as columns.

use crate::model::MeasureName;

/// Elements in order of arrival: an offset into the hour and one or more
/// values. An instant may stand in several elements, when measures of it came
/// apart; no measure stands twice for one instant.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Elements {
    names: Vec<MeasureName>,
    /// Microseconds into the hour, 0 to 3,599,999,999.
    offsets: Vec<u32>,
    /// End of each element's values.
    ends: Vec<u32>,
    measure_of: Vec<u32>,
    values: Vec<f64>,
}

/// One element.
#[derive(Debug, Clone, Copy)]
pub struct Element<'a> {
    /// Microseconds into the hour.
    pub offset: u32,
    names: &'a [MeasureName],
    measures: &'a [u32],
    values: &'a [f64],
}

impl<'a> Element<'a> {
    /// Its values by measure.
    pub fn values(self) -> impl ExactSizeIterator<Item = (&'a MeasureName, f64)> {
        self.measures
            .iter()
            .zip(self.values)
            .map(move |(m, v)| (&self.names[*m as usize], *v))
    }

    /// The value of `measure`, if this element has one.
    #[must_use]
    pub fn value(self, measure: &MeasureName) -> Option<f64> {
        self.values().find(|(m, _)| *m == measure).map(|(_, v)| v)
    }
}

impl Elements {
    /// Appends an element.
    pub fn push<'m>(
        &mut self,
        offset: u32,
        values: impl IntoIterator<Item = (&'m MeasureName, f64)>,
    ) {
        for (name, value) in values {
            let measure = self.intern(name);
            self.measure_of.push(measure);
            self.values.push(value);
        }
        self.offsets.push(offset);
        self.ends
            .push(u32::try_from(self.values.len()).expect("an hour has fewer than 2^32 values"));
    }

    fn intern(&mut self, name: &MeasureName) -> u32 {
        // Readings of a sensor mostly carry their measures in one order, so
        // the name after the last one is the best guess.
        let guess = self.measure_of.last().map_or(0, |m| *m as usize + 1);
        let guess = if guess < self.names.len() { guess } else { 0 };
        if self.names.get(guess).is_some_and(|n| n == name) {
            return guess as u32;
        }
        let at = self.names.iter().position(|n| n == name);
        let at = at.unwrap_or_else(|| {
            self.names.push(name.clone());
            self.names.len() - 1
        });
        u32::try_from(at).expect("memory holds fewer than 2^32 names")
    }

    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.offsets.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.offsets.is_empty()
    }

    /// Number of values over all elements.
    #[must_use]
    pub fn value_count(&self) -> usize {
        self.values.len()
    }

    /// Number of values in the elements before `row`.
    #[must_use]
    pub fn values_before(&self, row: usize) -> usize {
        match row {
            0 => 0,
            row => self.ends[row - 1] as usize,
        }
    }

    /// Bytes of memory held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.offsets.capacity() * 4
            + self.ends.capacity() * 4
            + self.measure_of.capacity() * 4
            + self.values.capacity() * 8
            + self.names.capacity() * 16
    }

    /// The distinct measures, in order of first appearance.
    #[must_use]
    pub fn names(&self) -> &[MeasureName] {
        &self.names
    }

    /// Offsets of all elements, in order of arrival.
    #[must_use]
    pub fn offsets(&self) -> &[u32] {
        &self.offsets
    }

    /// Element `row`, counted from 0 in order of arrival.
    #[must_use]
    pub fn get(&self, row: usize) -> Element<'_> {
        let start = self.values_before(row);
        let end = self.ends[row] as usize;
        Element {
            offset: self.offsets[row],
            names: &self.names,
            measures: &self.measure_of[start..end],
            values: &self.values[start..end],
        }
    }

    /// All elements in order of arrival.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Element<'_>> {
        (0..self.len()).map(|row| self.get(row))
    }

    /// A copy of the elements `from..to`.
    #[must_use]
    pub fn slice(&self, from: usize, to: usize) -> Self {
        let mut copy = Self::default();
        for row in from..to {
            let element = self.get(row);
            copy.push(element.offset, element.values());
        }
        copy
    }

    /// Appends copies of all elements of `other`.
    pub fn extend(&mut self, other: &Self) {
        for element in other.iter() {
            self.push(element.offset, element.values());
        }
    }

    /// Gives back memory that is reserved but unused.
    pub fn shrink(&mut self) {
        self.names.shrink_to_fit();
        self.offsets.shrink_to_fit();
        self.ends.shrink_to_fit();
        self.measure_of.shrink_to_fit();
        self.values.shrink_to_fit();
    }
}
