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
    #[expect(clippy::box_collection, reason = "of many buckets, few have any")]
    places: Option<Box<HashMap<MeasureName, u32>>>,
    /// Bytes of all names.
    name_bytes: usize,
    /// Microseconds into the hour, 0 to 3,599,999,999.
    offsets: Vec<u32>,
    /// Element by element.
    values: Vec<f64>,
    shape: Shape,
}

/// Which measure each value is of. Follows from the elements alone.
#[derive(Debug, Clone, PartialEq, Default)]
enum Shape {
    /// Every element has all measures, in the order of the names, as most sensors
    /// send: 12 bytes an element of one measure.
    #[default]
    Uniform,
    /// Any other: 8 bytes an element of one measure more.
    Listed {
        /// End of each element's values.
        ends: Vec<u32>,
        /// By value.
        measure_of: Vec<u32>,
    },
}

/// One element.
#[derive(Debug, Clone, Copy)]
pub struct Element<'a> {
    /// Microseconds into the hour.
    pub offset: u32,
    names: &'a [MeasureName],
    /// Those of the values; `None` where they are of all names, in their order.
    measures: Option<&'a [u32]>,
    values: &'a [f64],
}

impl<'a> Element<'a> {
    /// Its values by measure.
    pub fn values(self) -> impl ExactSizeIterator<Item = (&'a MeasureName, f64)> {
        self.values.iter().enumerate().map(move |(at, value)| {
            let measure = self.measures.map_or(at, |measures| measures[at] as usize);
            (&self.names[measure], *value)
        })
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
        let start = self.values.len();
        for (at, (name, value)) in values.into_iter().enumerate() {
            self.note_measure(at, name);
            self.values.push(value);
        }
        let pushed = self.values.len() - start;
        if self.is_uniform() && pushed < self.names.len() {
            self.list_measures(pushed);
        }
        self.offsets.push(offset);
        if let Shape::Listed { ends, .. } = &mut self.shape {
            ends.push(number(self.values.len()));
        }
    }

    /// Notes the measure of value `at` of the element that is being pushed.
    fn note_measure(&mut self, at: usize, name: &MeasureName) {
        if self.is_uniform() {
            if self.names.get(at).is_some_and(|known| known == name) {
                return;
            }
            // The first element says what a uniform one is like.
            let is_said = !self.offsets.is_empty() || at < self.names.len();
            if !is_said && self.place_of(name).is_none() {
                self.add_name(name);
                return;
            }
            self.list_measures(at);
        }
        let measure = self.intern(name);
        if let Shape::Listed { measure_of, .. } = &mut self.shape {
            measure_of.push(measure);
        }
    }

    /// From now on elements may be of any shape. `open` is the number of values of
    /// the element that is being pushed.
    fn list_measures(&mut self, open: usize) {
        let (rows, width) = (self.offsets.len(), self.names.len());
        let all = 0..number(width);
        let of_rows = std::iter::repeat_n(all, rows).flatten();
        self.shape = Shape::Listed {
            ends: (1..=rows).map(|row| number(row * width)).collect(),
            measure_of: of_rows.chain(0..number(open)).collect(),
        };
    }

    fn intern(&mut self, name: &MeasureName) -> u32 {
        // Readings of a sensor mostly carry their measures in one order, so
        // the name after the last one is the best guess.
        let last = match &self.shape {
            Shape::Uniform => None,
            Shape::Listed { measure_of, .. } => measure_of.last(),
        };
        let guess = last.map_or(0, |m| *m as usize + 1);
        let guess = if guess < self.names.len() { guess } else { 0 };
        if self.names.get(guess).is_some_and(|n| n == name) {
            return guess as u32;
        }
        self.place_of(name).unwrap_or_else(|| self.add_name(name))
    }

    fn place_of(&self, name: &MeasureName) -> Option<u32> {
        if self.names.len() > SEARCHED_NAMES_MAX {
            return self.places.as_ref()?.get(name).copied();
        }
        let at = self.names.iter().position(|n| n == name)?;
        Some(number(at))
    }

    fn add_name(&mut self, name: &MeasureName) -> u32 {
        let new = number(self.names.len());
        self.names.push(name.clone());
        self.name_bytes += name.as_str().len();
        if let Some(places) = &mut self.places {
            places.insert(name.clone(), new);
        } else if self.names.len() > SEARCHED_NAMES_MAX {
            let names = self.names.iter().cloned();
            self.places = Some(Box::new(names.zip(0..).collect()));
        }
        new
    }

    /// The value of `measure` in element `row`, if it has one.
    #[must_use]
    pub fn value_at(&self, row: usize, measure: &MeasureName) -> Option<f64> {
        let measure = self.place_of(measure)?;
        let element = self.get(row);
        let at = match element.measures {
            Some(measures) => measures.iter().position(|m| *m == measure)?,
            None => measure as usize,
        };
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
        match &self.shape {
            Shape::Uniform => row * self.names.len(),
            Shape::Listed { .. } if row == 0 => 0,
            Shape::Listed { ends, .. } => ends[row - 1] as usize,
        }
    }

    /// Bytes of memory held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let listed = match &self.shape {
            Shape::Uniform => 0,
            Shape::Listed { ends, measure_of } => ends.capacity() + measure_of.capacity(),
        };
        self.offsets.capacity() * 4
            + listed * 4
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

    /// Whether every element has all measures, in the order of the names.
    #[must_use]
    pub fn is_uniform(&self) -> bool {
        matches!(self.shape, Shape::Uniform)
    }

    /// The values of each measure, in the order of the names, of the elements
    /// `from..to`; `None` unless [`Self::is_uniform`].
    pub fn columns(
        &self,
        from: usize,
        to: usize,
    ) -> Option<impl Iterator<Item = (&MeasureName, impl ExactSizeIterator<Item = f64>)>> {
        if !self.is_uniform() {
            return None;
        }
        let width = self.names.len();
        let rows = &self.values[from * width..to * width];
        let column = move |at| rows.iter().skip(at).step_by(width).copied();
        Some(self.names.iter().zip((0..).map(column)))
    }

    /// Element `row`, counted from 0 in order of arrival.
    #[must_use]
    pub fn get(&self, row: usize) -> Element<'_> {
        let of_row = self.values_before(row)..self.values_before(row + 1);
        let measures = match &self.shape {
            Shape::Uniform => None,
            Shape::Listed { measure_of, .. } => Some(&measure_of[of_row.clone()]),
        };
        Element {
            offset: self.offsets[row],
            names: &self.names,
            measures,
            values: &self.values[of_row],
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
        copy.extend_from(self, from, to);
        copy
    }

    /// Appends copies of all elements of `other`.
    pub fn extend(&mut self, other: &Self) {
        self.extend_from(other, 0, other.len());
    }

    fn extend_from(&mut self, other: &Self, from: usize, to: usize) {
        if from >= to {
            return;
        }
        self.reserve(
            to - from,
            other.values_before(to) - other.values_before(from),
        );
        // The first one settles the shape of elements that were empty.
        let first = other.get(from);
        self.push(first.offset, first.values());
        let from = from + 1;
        if self.is_uniform() && other.is_uniform() {
            self.offsets.extend_from_slice(&other.offsets[from..to]);
            let values = other.values_before(from)..other.values_before(to);
            self.values.extend_from_slice(&other.values[values]);
            return;
        }
        for row in from..to {
            let element = other.get(row);
            self.push(element.offset, element.values());
        }
    }

    fn reserve(&mut self, rows: usize, values: usize) {
        self.offsets.reserve(rows);
        self.values.reserve(values);
    }

    /// Gives back memory that is reserved but unused.
    pub fn shrink(&mut self) {
        self.names.shrink_to_fit();
        self.offsets.shrink_to_fit();
        self.values.shrink_to_fit();
        if let Shape::Listed { ends, measure_of } = &mut self.shape {
            ends.shrink_to_fit();
            measure_of.shrink_to_fit();
        }
    }
}

/// The number of a name, or of values.
fn number(of: usize) -> u32 {
    u32::try_from(of).expect("an hour has fewer than 2^32 names and values")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Elements as they were pushed: a plain list.
    type Plain = Vec<(u32, Vec<(MeasureName, f64)>)>;

    fn plain() -> impl Strategy<Value = Plain> {
        let uniform = prop::collection::vec(Just(vec![0u8, 1]), 0..6);
        let values = prop::collection::vec(0u8..4, 1..4);
        let any = prop::collection::vec(values, 0..6);
        prop_oneof![uniform, any].prop_map(|rows| {
            let row = |(row, measures): (u32, Vec<u8>)| {
                let values = measures.into_iter().enumerate().map(|(at, measure)| {
                    let name = MeasureName::new(&format!("m{measure}")).unwrap();
                    (name, f64::from(row * 10) + at as f64)
                });
                (row, values.collect())
            };
            (0..).zip(rows).map(row).collect()
        })
    }

    fn pushed(plain: &Plain) -> Elements {
        let mut elements = Elements::default();
        for (offset, values) in plain {
            elements.push(*offset, values.iter().map(|(name, value)| (name, *value)));
        }
        elements
    }

    fn read(elements: &Elements) -> Plain {
        let values = |element: Element<'_>| {
            let values = element.values().map(|(name, value)| (name.clone(), value));
            (element.offset, values.collect())
        };
        elements.iter().map(values).collect()
    }

    proptest! {
        /// Whatever the shape, and however it came about.
        #[test]
        fn elements_come_out_as_they_went_in(one in plain(), two in plain(), cut: (prop::sample::Index, prop::sample::Index)) {
            let mut elements = pushed(&one);
            prop_assert_eq!(read(&elements), one.clone());
            elements.extend(&pushed(&two));
            let both = [one, two].concat();
            prop_assert_eq!(read(&elements), both.clone());
            prop_assert_eq!(&elements, &pushed(&both));
            let (a, b) = (cut.0.index(both.len() + 1), cut.1.index(both.len() + 1));
            let (from, to) = (a.min(b), a.max(b));
            let slice = elements.slice(from, to);
            prop_assert_eq!(read(&slice), both[from..to].to_vec());
            prop_assert_eq!(&slice, &pushed(&both[from..to].to_vec()));
            for (row, (_, values)) in both.iter().enumerate() {
                let first = values.iter().find(|(name, _)| *name == values[0].0);
                prop_assert_eq!(elements.value_at(row, &values[0].0), first.map(|(_, value)| *value));
            }
            if let Some(columns) = elements.columns(from, to) {
                for (name, column) in columns {
                    let column: Vec<f64> = column.collect();
                    let value = |row: usize| elements.value_at(row, name).unwrap();
                    prop_assert_eq!(column, (from..to).map(value).collect::<Vec<_>>());
                }
            }
        }
    }

    #[test]
    fn what_a_sensor_mostly_sends_takes_its_instant_and_its_values() {
        let names = ["temp", "hum"].map(|name| MeasureName::new(name).unwrap());
        let mut elements = Elements::default();
        for offset in 0..1000 {
            elements.push(offset, names.iter().map(|name| (name, 1.0)));
        }
        elements.shrink();
        assert!(elements.columns(0, 1000).is_some());
        assert!(elements.bytes() < 1000 * 20 + 200);
        elements.push(1000, [(&names[1], 1.0)]);
        assert!(elements.columns(0, 1000).is_none());
        assert!(elements.bytes() > 1000 * 32);
    }

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
