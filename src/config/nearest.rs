//! The known name most like an unknown one.

/// Names less alike than this are no help (Jaro-Winkler, 0 to 1): found by
/// trying typing slips of the keys there are.
const ALIKE_MIN: f64 = 0.8;

/// The one of `known` most like `name`, if any is like it.
#[must_use]
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|(alike, _)| *alike >= ALIKE_MIN)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 4] = [
        "server.listen",
        "server.insecure",
        "journal.bytes_max",
        "buffer.bytes_max",
    ];

    #[test]
    fn a_slip_finds_its_key() {
        assert_eq!(nearest("server.lisen", KNOWN), Some("server.listen"));
        assert_eq!(nearest("sever.listen", KNOWN), Some("server.listen"));
        assert_eq!(
            nearest("journal.max_bytes", KNOWN),
            Some("journal.bytes_max")
        );
    }

    #[test]
    fn what_is_like_nothing_finds_nothing() {
        assert_eq!(nearest("zzz", KNOWN), None);
        assert_eq!(nearest("server.listen", []), None);
    }
}
