//! The two interfaces of InfluxDB, and what each calls a unit of time.

use crate::decode::TimeUnit;

/// Whose forms a request is answered in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Version 1: databases and retention policies.
    V1,
    /// Version 2: buckets and organisations.
    V2,
}

impl Dialect {
    /// The unit that `precision` names; nanoseconds where it is absent or empty.
    ///
    /// # Errors
    /// What it may be.
    pub(super) fn unit(self, precision: Option<&str>) -> Result<TimeUnit, String> {
        let known = match self {
            Self::V1 => "n, ns, u, us, ms, s, m or h",
            Self::V2 => "ns, us, ms, s, m or h",
        };
        let name = match (self, precision) {
            (_, None | Some("")) | (Self::V1, Some("n")) => "ns",
            (Self::V1, Some("u")) => "us",
            (_, Some(name)) => name,
        };
        TimeUnit::parse(name).ok_or_else(|| format!("`precision` is {known}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_interface_has_its_names_and_nanoseconds_by_default() {
        use TimeUnit::{Hours, Micros, Millis, Minutes, Nanos, Seconds};
        for (name, unit) in [
            ("", Nanos),
            ("ns", Nanos),
            ("us", Micros),
            ("ms", Millis),
            ("s", Seconds),
            ("m", Minutes),
            ("h", Hours),
        ] {
            assert_eq!(Dialect::V1.unit(Some(name)), Ok(unit), "{name}");
            assert_eq!(Dialect::V2.unit(Some(name)), Ok(unit), "{name}");
        }
        for (name, unit) in [("n", Nanos), ("u", Micros)] {
            assert_eq!(Dialect::V1.unit(Some(name)), Ok(unit), "{name}");
            assert!(Dialect::V2.unit(Some(name)).is_err(), "{name}");
        }
        assert_eq!(Dialect::V2.unit(None), Ok(Nanos));
        for name in ["S", "sec", "ns ", "rfc3339", "1"] {
            assert!(Dialect::V1.unit(Some(name)).is_err(), "{name}");
        }
    }
}
