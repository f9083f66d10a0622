//! Which measures each element of a chunk has.

use std::collections::HashMap;

use super::super::bytes::{Reader, put_varint};
use super::super::damage::Damage;
use crate::bucket::Elements;

/// All elements have all measures, in the order of the names.
const UNIFORM: u8 = 0;
/// Shapes and runs follow.
const EXPLICIT: u8 = 1;

const NO_VALUE: Damage = Damage::Invalid("it has an element without a value");

/// The distinct measure lists ("shapes") and how many elements in a row have
/// each.
#[derive(Debug, PartialEq)]
pub(super) struct Layout {
    shapes: Vec<Vec<u32>>,
    /// Shape and number of elements.
    runs: Vec<(usize, usize)>,
}

impl Layout {
    pub(super) fn of(elements: &Elements) -> Self {
        if elements.is_uniform() && !elements.is_empty() {
            return Self {
                shapes: vec![(0..).take(elements.names().len()).collect()],
                runs: vec![(0, elements.len())],
            };
        }
        let names: HashMap<&str, u32> = (0..)
            .zip(elements.names())
            .map(|(at, name)| (name.as_str(), at))
            .collect();
        let mut layout = Self {
            shapes: Vec::new(),
            runs: Vec::new(),
        };
        let mut known: HashMap<Vec<u32>, usize> = HashMap::new();
        for element in elements.iter() {
            // Mostly the shape is that of the element before.
            if let Some((shape, run)) = layout.runs.last_mut() {
                let same = layout.shapes[*shape].len() == element.values().len()
                    && layout.shapes[*shape]
                        .iter()
                        .zip(element.values())
                        .all(|(at, (name, _))| elements.names()[*at as usize] == *name);
                if same {
                    *run += 1;
                    continue;
                }
            }
            let shape: Vec<u32> = element
                .values()
                .map(|(name, _)| names[name.as_str()])
                .collect();
            let at = *known.entry(shape).or_insert_with_key(|shape| {
                layout.shapes.push(shape.clone());
                layout.shapes.len() - 1
            });
            layout.runs.push((at, 1));
        }
        layout
    }

    /// Each run's measures and its number of elements, in order.
    pub(super) fn runs(&self) -> impl Iterator<Item = (&[u32], usize)> {
        self.runs
            .iter()
            .map(|(shape, run)| (self.shapes[*shape].as_slice(), *run))
    }

    /// How many values each of `measures` has.
    pub(super) fn entries_by_measure(&self, measures: usize) -> Vec<usize> {
        let mut entries = vec![0; measures];
        for (shape, run) in self.runs() {
            for measure in shape {
                entries[*measure as usize] += run;
            }
        }
        entries
    }

    fn is_uniform(&self, measures: usize) -> bool {
        match self.shapes.as_slice() {
            [shape] => shape.len() == measures && shape.iter().zip(0..).all(|(a, b)| *a == b),
            _ => false,
        }
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        // The names are exactly those that a shape uses, so a single shape that
        // lists them in order is the uniform one.
        let measures = self.shapes.iter().flatten().max().map_or(0, |m| *m + 1);
        if self.is_uniform(measures as usize) {
            out.push(UNIFORM);
            return;
        }
        out.push(EXPLICIT);
        put_varint(out, self.shapes.len() as u64);
        for shape in &self.shapes {
            put_varint(out, shape.len() as u64);
            for measure in shape {
                put_varint(out, u64::from(*measure));
            }
        }
        put_varint(out, self.runs.len() as u64);
        for (shape, run) in &self.runs {
            put_varint(out, *shape as u64);
            put_varint(out, *run as u64);
        }
    }

    pub(super) fn decode(
        reader: &mut Reader<'_>,
        rows: usize,
        measures: usize,
    ) -> Result<Self, Damage> {
        match reader.byte()? {
            // An element has at least one value: this bounds the elements by
            // the values there are.
            UNIFORM if measures == 0 => Err(NO_VALUE),
            UNIFORM => Ok(Self {
                shapes: vec![(0..).take(measures).collect()],
                runs: vec![(0, rows)],
            }),
            EXPLICIT => Self::decode_explicit(reader, rows, measures),
            _ => Err(Damage::Invalid("its layout is of an unknown kind")),
        }
    }

    fn decode_explicit(
        reader: &mut Reader<'_>,
        rows: usize,
        measures: usize,
    ) -> Result<Self, Damage> {
        let mut shapes = Vec::new();
        for _ in 0..reader.count()? {
            let mut shape = Vec::new();
            for _ in 0..reader.count()? {
                let measure = reader.varint()?;
                if measure >= measures as u64 {
                    return Err(Damage::Invalid("its layout uses a measure without a name"));
                }
                shape.push(measure as u32);
            }
            if shape.is_empty() {
                return Err(NO_VALUE);
            }
            shapes.push(shape);
        }
        let mut runs = Vec::new();
        let mut covered = 0usize;
        for _ in 0..reader.count()? {
            let (shape, run) = (reader.varint()?, reader.varint()?);
            let shape = usize::try_from(shape).unwrap_or(usize::MAX);
            let run = usize::try_from(run).unwrap_or(usize::MAX);
            covered = covered.saturating_add(run);
            if shape >= shapes.len() || covered > rows {
                return Err(Damage::Invalid("its layout does not fit its elements"));
            }
            runs.push((shape, run));
        }
        if covered != rows {
            return Err(Damage::Invalid("its layout does not fit its elements"));
        }
        Ok(Self { shapes, runs })
    }
}
