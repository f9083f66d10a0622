//! Where a store lies, in one argument: `embedded:DIR` or a connection string.

use std::fmt;
use std::path::PathBuf;

use super::mask::mask;
use super::store::MongodbUri;

/// A store and where it lies. Printing it masks secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StorePlace {
    /// The embedded one of this data directory.
    Embedded(PathBuf),
    /// A MongoDB deployment and database.
    Mongodb(MongodbUri),
}

/// An argument that names no store.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} names no store; give embedded:DIR with the data directory, or \
     mongodb://HOST/DATABASE"
)]
pub struct PlaceError(String);

impl StorePlace {
    /// Reads an argument.
    ///
    /// # Errors
    /// [`PlaceError`], secrets masked.
    pub fn parse(text: &str) -> Result<Self, PlaceError> {
        let dir = text.strip_prefix("embedded:").filter(|dir| !dir.is_empty());
        dir.map(|dir| Self::Embedded(dir.into()))
            .or_else(|| MongodbUri::parse(text).map(Self::Mongodb))
            .ok_or_else(|| PlaceError(mask(text)))
    }

    /// Whether both are one place, as far as can be told without opening them.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Embedded(a), Self::Embedded(b)) => {
                a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
            }
            (Self::Mongodb(a), Self::Mongodb(b)) => a == b,
            _ => false,
        }
    }
}

impl fmt::Display for StorePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embedded(dir) => write!(f, "embedded:{}", dir.display()),
            Self::Mongodb(uri) => uri.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_directory_or_a_connection_string() {
        let data = StorePlace::parse("embedded:/var/lib/hourglass").unwrap();
        assert_eq!(data, StorePlace::Embedded("/var/lib/hourglass".into()));
        let mongodb = StorePlace::parse("mongodb://u:secret@db/plant").unwrap();
        assert!(!mongodb.to_string().contains("secret"), "{mongodb}");
        assert!(!data.is_same(&mongodb));
        assert!(data.is_same(&data.clone()) && mongodb.is_same(&mongodb.clone()));
        for wrong in ["embedded", "embedded:", "data", "mongodb://", ""] {
            assert!(StorePlace::parse(wrong).is_err(), "{wrong}");
        }
    }
}
