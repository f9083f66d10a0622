//! Elements of a bucket as columns.

use std::collections::HashMap;

use crate::model::MeasureName;

/// As many names are looked through one by one; a map is faster beyond.
const SEARCHED_NAMES_MAX: usize = 16;

/// Bytes that a name takes beside its text: its place in the list, the counts
/// of its shared text, and its share of the map, estimated.
const NAME_BYTES: usize = 64;

/// Elements in order of arrival: an offset into the hour and one or more
/// values. An instant may stand in several elements, when measures of it came
/// apart; no measure stands twice for one instant.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Elements {
    names: Vec<MeasureName>,
    /// Place of each name, once there are more than [`SEARCHED_NAMES_MAX`].
    places: HashMap<MeasureName, u32>,
    /// Bytes of all names.
    name_bytes: usize,
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
        self.place_of(name).unwrap_or_else(|| self.add_name(name))
    }

    fn place_of(&self, name: &MeasureName) -> Option<u32> {
        if self.names.len() > SEARCHED_NAMES_MAX {
            return self.places.get(name).copied();
        }
        let at = self.names.iter().position(|n| n == name)?;
        Some(place(at))
    }

    fn add_name(&mut self, name: &MeasureName) -> u32 {
        let new = place(self.names.len());
        self.names.push(name.clone());
        self.name_bytes += name.as_str().len();
        match self.names.len() - 1 {
            SEARCHED_NAMES_MAX => {
                let names = self.names.iter().cloned();
                self.places = names.zip(0..).collect();
            }
            before if before > SEARCHED_NAMES_MAX => {
                self.places.insert(name.clone(), new);
            }
            _ => {}
        }
        new
    }

    /// The value of `measure` in element `row`, if it has one.
    #[must_use]
    pub fn value_at(&self, row: usize, measure: &MeasureName) -> Option<f64> {
        let measure = self.place_of(measure)?;
        let element = self.get(row);
        let at = element.measures.iter().position(|m| *m == measure)?;
        Some(element.values[at])
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
            + self.names.len() * NAME_BYTES
            + self.name_bytes
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

fn place(at: usize) -> u32 {
    u32::try_from(at).expect("memory holds fewer than 2^32 names")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_names_are_found_as_few_are() {
        let name = |n: u32| MeasureName::new(&format!("n{n}")).unwrap();
        let names: Vec<MeasureName> = (0..100).map(name).collect();
        let mut elements = Elements::default();
        for (row, reading) in names.chunks(7).enumerate() {
            let values = reading.iter().rev().map(|name| (name, row as f64));
            elements.push(row as u32, values);
        }
        elements.push(99, names.iter().map(|name| (name, -1.0)));
        assert_eq!(elements.names().len(), 100);
        for (at, name) in names.iter().enumerate() {
            assert_eq!(elements.value_at(at / 7, name), Some((at / 7) as f64));
            assert_eq!(elements.value_at(15, name), Some(-1.0));
            assert_eq!(elements.value_at((at / 7 + 1) % 15, name), None);
        }
        assert_eq!(elements.value_at(0, &name(100)), None);
    }
}
