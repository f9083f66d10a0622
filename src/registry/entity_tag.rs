//! Versions of records as entity tags, and the conditions of requests (RFC 9110,
//! sections 8.8.3 and 13.1). Pure.

use super::error::RegistryError;
use crate::store::RecordVersion;

/// The tag of a version; `"0"` where nothing was set yet.
#[must_use]
pub fn entity_tag(version: Option<RecordVersion>) -> String {
    match version {
        None => "\"0\"".to_owned(),
        Some(version) => format!("\"{}-{:x}\"", version.rev, version.by),
    }
}

/// What a request asks of the record before it changes it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Precondition {
    /// `If-Match`.
    if_match: Option<Tags>,
    /// `If-None-Match`.
    if_none_match: Option<Tags>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Tags {
    Any,
    These(Vec<String>),
}

impl Tags {
    /// A list of tags, or `*`. A weak tag is the same as none: a change asks for
    /// the strong comparison.
    fn read(header: &str) -> Self {
        if header.trim() == "*" {
            return Self::Any;
        }
        let tags = header.split(',').map(str::trim);
        Self::These(tags.map(str::to_owned).collect())
    }

    fn hold(&self, tag: Option<&str>) -> bool {
        match (self, tag) {
            (_, None) => false,
            (Self::Any, Some(_)) => true,
            (Self::These(tags), Some(tag)) => tags.iter().any(|listed| listed == tag),
        }
    }
}

impl Precondition {
    /// From the values of the headers.
    #[must_use]
    pub fn new(if_match: Option<&str>, if_none_match: Option<&str>) -> Self {
        Self {
            if_match: if_match.map(Tags::read),
            if_none_match: if_none_match.map(Tags::read),
        }
    }

    /// Whether a change may go on. `tag` is the record's, `None` where there is
    /// none.
    ///
    /// # Errors
    /// [`RegistryError::Precondition`] tells what the record is.
    pub fn check(&self, tag: Option<&str>) -> Result<(), RegistryError> {
        let is = tag.map_or_else(
            || "there is no such record".to_owned(),
            |tag| format!("it is {tag} now: get it, and change what you got"),
        );
        if self.if_match.as_ref().is_some_and(|tags| !tags.hold(tag)) {
            let told = format!("the record is not the one of If-Match; {is}");
            return Err(RegistryError::Precondition(told));
        }
        if self
            .if_none_match
            .as_ref()
            .is_some_and(|tags| tags.hold(tag))
        {
            let told = format!("If-None-Match asks for another record; {is}");
            return Err(RegistryError::Precondition(told));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_hold_as_the_rfc_says() {
        let tag = entity_tag(Some(RecordVersion { rev: 3, by: 255 }));
        assert_eq!(tag, "\"3-ff\"");
        let check = |m: Option<&str>, n: Option<&str>, tag: Option<&str>| {
            Precondition::new(m, n).check(tag).is_ok()
        };
        assert!(check(None, None, None) && check(None, None, Some(&tag)));
        assert!(check(Some("\"1-0\", \"3-ff\""), None, Some(&tag)));
        assert!(!check(Some("\"1-0\""), None, Some(&tag)));
        assert!(!check(Some("W/\"3-ff\""), None, Some(&tag)));
        assert!(check(Some("*"), None, Some(&tag)) && !check(Some("*"), None, None));
        assert!(check(None, Some("*"), None) && !check(None, Some("*"), Some(&tag)));
        assert!(!check(None, Some("\"3-ff\""), Some(&tag)));
    }
}
