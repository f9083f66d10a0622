//! Query parameters as InfluxDB takes them: unknown ones are ignored, and of
//! several with one name the first counts.

use form_urlencoded::parse;

/// The parameters of one request. Not `Debug`: they may hold a password.
#[derive(Default)]
pub(super) struct Params(Vec<(String, String)>);

impl Params {
    /// Reads a query string, or a body in the form of one.
    pub(super) fn read(text: &[u8]) -> Self {
        let owned = parse(text).map(|(key, value)| (key.into_owned(), value.into_owned()));
        Self(owned.collect())
    }

    /// These, then those of `other`.
    pub(super) fn then(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// The first value of `key`.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        let mut pairs = self.0.iter();
        let (_, value) = pairs.find(|(k, _)| k == key)?;
        Some(value)
    }
}
