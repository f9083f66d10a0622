//! Labels: texts by key.

use std::cmp::Ordering;
use std::sync::Arc;

/// Most attributes of one sensor that are kept.
pub const ATTRIBUTES_MAX: usize = 64;

/// Texts by key, sorted by key, each key once: the tags of an origin, the
/// attributes of a sensor. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Tags(Arc<[(Box<str>, Box<str>)]>);

/// What became of tags that were merged into others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MergedTags {
    /// Whether there is another text or another key now.
    pub changed: bool,
    /// New keys that were not taken.
    pub refused: usize,
}

impl Tags {
    /// Tags in any order. Of a key that stands twice the greater text is kept.
    #[must_use]
    pub fn new<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let pairs = pairs.into_iter();
        Self::sorted(pairs.map(|(k, v)| (k.into(), v.into())).collect())
    }

    fn sorted(mut pairs: Vec<(Box<str>, Box<str>)>) -> Self {
        pairs.sort_by(|a, b| b.cmp(a));
        pairs.dedup_by(|later, kept| later.0 == kept.0);
        pairs.reverse();
        Self(pairs.into())
    }

    /// Keys and texts, sorted by key.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (&**key, &**value))
    }

    /// The text of `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        let at = self.0.binary_search_by(|(k, _)| (**k).cmp(key)).ok()?;
        self.0.get(at).map(|(_, value)| &**value)
    }

    /// Number of keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether both are one piece of memory.
    #[must_use]
    pub fn is_shared_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Bytes of memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let pairs = self.iter();
        pairs.map(|(key, value)| key.len() + value.len() + 64).sum()
    }

    /// Merges `newer` in by key: its text of a key wins. At most `keys_max` keys
    /// are kept: then new ones are not taken, known ones are updated all the
    /// same.
    pub fn merge(&mut self, newer: &Self, keys_max: usize) -> MergedTags {
        let mut room = keys_max.saturating_sub(self.len());
        let mut merged = MergedTags::default();
        let mut only_here = 0;
        for side in (Sides {
            old: self,
            new: newer,
        })
        .walk()
        {
            match side {
                Side::Old(_) => only_here += 1,
                Side::New(_) if room == 0 => merged.refused += 1,
                Side::New(_) => {
                    room -= 1;
                    merged.changed = true;
                }
                Side::Both(old, new) => merged.changed |= old.1 != new.1,
            }
        }
        if merged.changed {
            *self = if only_here == 0 && merged.refused == 0 {
                newer.clone()
            } else {
                self.joined(newer, keys_max)
            };
        }
        merged
    }

    fn joined(&self, newer: &Self, keys_max: usize) -> Self {
        let mut room = keys_max.saturating_sub(self.len());
        let mut pairs = Vec::with_capacity(self.len() + newer.len());
        for side in (Sides {
            old: self,
            new: newer,
        })
        .walk()
        {
            match side {
                Side::Old(pair) | Side::Both(_, pair) => pairs.push(pair.clone()),
                Side::New(pair) if room > 0 => {
                    room -= 1;
                    pairs.push(pair.clone());
                }
                Side::New(_) => {}
            }
        }
        Self(pairs.into())
    }
}

type Pair = (Box<str>, Box<str>);

/// Two sets of tags, walked side by side.
struct Sides<'a> {
    old: &'a Tags,
    new: &'a Tags,
}

enum Side<'a> {
    Old(&'a Pair),
    New(&'a Pair),
    Both(&'a Pair, &'a Pair),
}

impl<'a> Sides<'a> {
    fn walk(self) -> impl Iterator<Item = Side<'a>> {
        let (mut old, mut new) = (self.old.0.iter().peekable(), self.new.0.iter().peekable());
        std::iter::from_fn(move || {
            let order = match (old.peek(), new.peek()) {
                (Some(old), Some(new)) => old.0.cmp(&new.0),
                (Some(_), None) => Ordering::Less,
                (None, _) => Ordering::Greater,
            };
            match order {
                Ordering::Less => old.next().map(Side::Old),
                Ordering::Greater => new.next().map(Side::New),
                Ordering::Equal => Some(Side::Both(old.next()?, new.next()?)),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn numbered(keys: std::ops::Range<usize>, value: &str) -> Tags {
        let keys: Vec<String> = keys.map(|n| format!("k{n:03}")).collect();
        Tags::new(keys.iter().map(|key| (key.as_str(), value)))
    }

    #[test]
    fn at_the_bound_known_keys_are_updated_and_new_ones_refused() {
        let mut tags = numbered(0..60, "old");
        let merged = tags.merge(&numbered(50..70, "new"), ATTRIBUTES_MAX);
        assert_eq!((merged.changed, merged.refused), (true, 6));
        assert_eq!(tags.len(), ATTRIBUTES_MAX);
        assert_eq!(tags.get("k049"), Some("old"));
        assert_eq!(tags.get("k050"), Some("new"));
        assert_eq!((tags.get("k063"), tags.get("k064")), (Some("new"), None));

        let merged = tags.merge(&numbered(64..65, "x"), ATTRIBUTES_MAX);
        assert_eq!((merged.changed, merged.refused), (false, 1));
    }

    #[test]
    fn tags_that_cover_all_keys_are_shared_not_copied() {
        let mut tags = Tags::new([("core", "0")]);
        let newer = Tags::new([("host", "h"), ("core", "1")]);
        assert!(tags.merge(&newer, ATTRIBUTES_MAX).changed);
        assert!(tags.is_shared_with(&newer));
        assert_eq!(tags.merge(&newer, ATTRIBUTES_MAX), MergedTags::default());
    }

    proptest! {
        #[test]
        fn merging_equals_a_plain_map(
            sets in proptest::collection::vec(
                proptest::collection::vec(("[a-f]", "[xy]"), 0..5), 0..8
            )
        ) {
            let mut tags = Tags::default();
            let mut plain: BTreeMap<String, String> = BTreeMap::new();
            for set in &sets {
                let newer = Tags::new(set.iter().map(|(k, v)| (k.as_str(), v.as_str())));
                let before = tags.clone();
                let merged = tags.merge(&newer, 4);
                let mut refused = 0;
                for (key, value) in newer.iter() {
                    if plain.len() < 4 || plain.contains_key(key) {
                        plain.insert(key.to_owned(), value.to_owned());
                    } else {
                        refused += 1;
                    }
                }
                prop_assert_eq!(merged.refused, refused);
                prop_assert_eq!(merged.changed, before != tags);
                let read: Vec<(&str, &str)> = tags.iter().collect();
                let expected = plain.iter().map(|(k, v)| (k.as_str(), v.as_str()));
                prop_assert_eq!(read, expected.collect::<Vec<_>>());
            }
        }
    }
}
