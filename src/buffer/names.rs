//! One text for each measure's name.
//!
//! Names come with every batch, and the same few in all of them. When what is in
//! the buffer shares one text, names are told to be the same by its address, and
//! a sensor that was not looked at for long costs a cache miss less.

use std::sync::Mutex;

use ahash::HashSet;

use super::lock;
use crate::model::MeasureName;

/// Most names that are shared. A name takes about 100 bytes.
const NAMES_MAX: usize = 4096;

/// The names that were seen first.
#[derive(Debug, Default)]
pub(super) struct Names {
    known: Mutex<HashSet<MeasureName>>,
}

impl Names {
    /// The same names, of shared texts as far as the table goes.
    pub(super) fn shared(&self, names: &[MeasureName]) -> Vec<MeasureName> {
        let mut known = lock(&self.known);
        let shared = names.iter().map(|name| {
            if let Some(shared) = known.get(name) {
                return shared.clone();
            }
            if known.len() < NAMES_MAX {
                known.insert(name.clone());
            }
            name.clone()
        });
        shared.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> MeasureName {
        MeasureName::new(text).unwrap()
    }

    #[test]
    fn a_name_is_shared_however_often_it_comes() {
        let names = Names::default();
        let first = names.shared(&[named("temp"), named("hum")]);
        let second = names.shared(&[named("hum"), named("temp")]);
        assert_eq!(first[0].as_str().as_ptr(), second[1].as_str().as_ptr());
        assert_eq!(first[1].as_str().as_ptr(), second[0].as_str().as_ptr());
        assert_eq!(second, [named("hum"), named("temp")]);
    }

    #[test]
    fn beyond_the_table_names_are_as_they_came() {
        let names = Names::default();
        let many: Vec<_> = (0..NAMES_MAX + 10)
            .map(|n| named(&format!("n{n}")))
            .collect();
        assert_eq!(names.shared(&many), many);
        let last = &many[NAMES_MAX + 9];
        assert_eq!(
            names.shared(std::slice::from_ref(last)),
            std::slice::from_ref(last)
        );
        assert_eq!(lock(&names.known).len(), NAMES_MAX);
    }
}
