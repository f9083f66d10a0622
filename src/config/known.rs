//! Layers of values, and the keys that they may hold.

use figment::value::{Dict, Map, Value};
use figment::{Metadata, Profile, Provider};

use super::error::Problem;
use super::nearest::nearest;
use super::settings::Settings;

/// One source of values, named for error messages.
pub(super) struct Layer {
    pub(super) source: String,
    pub(super) dict: Dict,
}

impl Layer {
    /// What holds where no other layer says anything.
    pub(super) fn of_defaults() -> Self {
        let value = Value::serialize(Settings::default());
        Self {
            source: "the defaults".to_owned(),
            dict: value
                .ok()
                .and_then(Value::into_dict)
                .expect("settings are sections of texts, numbers and lists"),
        }
    }
}

impl Provider for Layer {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.source.clone())
    }

    fn data(&self) -> figment::Result<Map<Profile, Dict>> {
        Ok(Map::from([(Profile::Default, self.dict.clone())]))
    }
}

/// The keys there are, with their defaults.
pub(super) struct Known(Vec<(String, Value)>);

impl Known {
    pub(super) fn of(defaults: &Layer) -> Self {
        let mut keys = Vec::new();
        for (section, values) in &defaults.dict {
            if let Value::Dict(_, values) = values {
                keys.extend(
                    values
                        .iter()
                        .map(|(key, value)| (format!("{section}.{key}"), value.clone())),
                );
            }
        }
        Self(keys)
    }

    fn default_of(&self, key: &str) -> Option<&Value> {
        self.0
            .iter()
            .find(|(known, _)| known == key)
            .map(|(_, value)| value)
    }

    /// A layer of one value that came as text. It is read as a number or a truth
    /// value only where the key takes one, so that a directory may be named `1`.
    pub(super) fn layer(&self, source: String, key: &str, text: &str) -> Layer {
        let value = match self.default_of(key) {
            Some(Value::Bool(..)) => text.parse().ok().map(|truth: bool| Value::from(truth)),
            Some(Value::Num(..)) => text.parse().ok().map(|number: i64| Value::from(number)),
            _ => None,
        };
        let mut nested = value.unwrap_or_else(|| Value::from(text));
        for name in key.rsplit('.') {
            nested = Value::from(Dict::from([(name.to_owned(), nested)]));
        }
        Layer {
            source,
            dict: nested.into_dict().unwrap_or_default(),
        }
    }

    /// Adds a problem for every key of `layer` that there is not.
    pub(super) fn find_strangers(&self, layer: &Layer, problems: &mut Vec<Problem>) {
        for (section, value) in &layer.dict {
            match value {
                Value::Dict(_, values) => {
                    let keys = values.keys().map(|key| format!("{section}.{key}"));
                    for key in keys.filter(|key| self.default_of(key).is_none()) {
                        let nearest = self.nearest_to(&key);
                        problems.push(unknown(key, layer, nearest));
                    }
                    if values.is_empty() && !self.has_section(section) {
                        let nearest = nearest(section, self.sections());
                        problems.push(unknown(section.clone(), layer, nearest));
                    }
                }
                _ if self.has_section(section) => problems.push(Problem::BadValue {
                    key: section.clone(),
                    source: layer.source.clone(),
                    value: "a value".to_owned(),
                    expected: format!("a section with keys, as [{section}] begins"),
                }),
                _ => problems.push(unknown(section.clone(), layer, self.nearest_to(section))),
            }
        }
    }

    fn sections(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|(key, _)| key.split('.').next())
    }

    fn has_section(&self, name: &str) -> bool {
        self.sections().any(|section| section == name)
    }

    /// A key of the same name in another section, else the one most alike.
    fn nearest_to(&self, key: &str) -> Option<&str> {
        let name = key.rsplit('.').next();
        let mut known = self.0.iter().map(|(known, _)| known.as_str());
        known
            .clone()
            .find(|known| known.rsplit('.').next() == name)
            .or_else(|| nearest(key, &mut known))
    }
}

fn unknown(key: String, layer: &Layer, nearest: Option<&str>) -> Problem {
    Problem::UnknownKey {
        key,
        source: layer.source.clone(),
        nearest: nearest.map(str::to_owned),
    }
}
