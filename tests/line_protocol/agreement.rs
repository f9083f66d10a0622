//! On generated lines both decoders read the same, or the difference is one of
//! those named in [`Difference`].

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use rand::RngExt;

use super::generated::line;
use super::readers::{Content, ours, theirs};
use crate::support::seed::seeded;

/// Why two readings of a line may differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Difference {
    /// A rule of this project, not of the grammar: integers beyond 2^53,
    /// magnitudes beyond 1e300, names that are blank, too long or hold control
    /// characters, a field or tag twice.
    OurRule,
    /// The peer takes an unescaped comma for a part of a key. InfluxDB's
    /// reference asks for a backslash before it; read on, `a,b=1` would be one
    /// field where a value was forgotten.
    CommaInKey,
    /// The peer takes an unescaped equals sign for the beginning of a tag's
    /// value or a part of it. The reference asks for a backslash before it.
    EqualsInTag,
    /// The peer ends names at a tab; the reference knows spaces only.
    Tab,
    /// The peer refuses a name whose last character is a backslash, escaped or
    /// not. Here a backslash before a delimiter escapes it, always.
    BackslashAtEnd,
    /// The peer refuses a line without a time that ends in spaces.
    SpaceAtEnd,
    /// The peer reads two backslashes in a name as one. InfluxDB 1 and 2 keep
    /// both, and clients escape none.
    BackslashTwice,
    /// After spaces at the start of a line the peer ends the line at the first line
    /// end, inside a text too.
    SpaceAtStart,
    /// The peer knows none of `.5`, `5.` and `+1`; InfluxDB reads all.
    NumberForm,
}

/// `None` where both read the same.
fn difference(text: &str) -> Result<Option<Difference>, String> {
    let (ours, theirs) = (ours(text), theirs(text));
    let their_error = theirs
        .as_ref()
        .err()
        .map(String::as_str)
        .unwrap_or_default();
    let found = match (&ours, &theirs) {
        (Ok(Some(ours)), Ok(theirs)) if theirs.iter().eq([ours]) => None,
        (Ok(None), Ok(theirs)) if theirs.iter().all(is_text_only) => None,
        (Err(_), Err(_)) => None,
        (Err(why), Ok(_)) if is_our_rule(why) => Some(Difference::OurRule),
        _ if text.contains('\t') => Some(Difference::Tab),
        (Err(why), Ok(_)) if why.contains("no `=`") => Some(Difference::CommaInKey),
        (Err(why), Ok(_)) if why.contains("equals sign") || why.contains("tag has no value") => {
            Some(Difference::EqualsInTag)
        }
        (Ok(_), Err(_)) if their_error.contains("may not end with a backslash") => {
            Some(Difference::BackslashAtEnd)
        }
        (Ok(Some(ours)), Ok(theirs)) if theirs.iter().eq([&halved(ours)]) => {
            Some(Difference::BackslashTwice)
        }
        (Ok(_), Err(_)) if text.contains(r"\\") => Some(Difference::BackslashTwice),
        (Ok(_), Err(_)) if FORMS.iter().any(|form| text.contains(form)) || text.ends_with("5.") => {
            Some(Difference::NumberForm)
        }
        (Ok(Some(ours)), Err(_)) if ours.at.is_none() && text.ends_with(' ') => {
            Some(Difference::SpaceAtEnd)
        }
        (Ok(None), Err(_)) if text.ends_with(' ') => Some(Difference::SpaceAtEnd),
        (Ok(_), Err(_)) if text.starts_with(' ') && text.contains('\n') => {
            Some(Difference::SpaceAtStart)
        }
        _ => return Err(format!("{text:?}\n  ours: {ours:?}\ntheirs: {theirs:?}")),
    };
    Ok(found)
}

/// Parts of lines whose numbers the peer does not know.
const FORMS: [&str; 5] = ["=.", "=-.", "=+", "=5.,", "=5. "];

/// `content` as whoever reads two backslashes as one has it.
fn halved(content: &Content) -> Content {
    let halve = |text: &String| text.replace(r"\\", r"\");
    let mut halved = content.clone();
    halved.measurement = halve(&content.measurement);
    for (key, value) in &mut halved.tags {
        (*key, *value) = (halve(key), halve(value));
    }
    halved.tags.sort();
    for (name, _) in &mut halved.numbers {
        *name = halve(name);
    }
    halved
}

fn is_text_only(content: &Content) -> bool {
    content.numbers.is_empty()
}

fn is_our_rule(why: &str) -> bool {
    [
        "integer_too_large",
        "not_finite",
        "invalid_measure_name",
        "invalid_sensor_id",
        "duplicate_field",
    ]
    .iter()
    .any(|code| why.starts_with(code))
}

/// `HOURGLASS_TEST_LINES` sets how many lines are compared.
#[test]
fn generated_lines_are_read_as_an_independent_decoder_reads_them() {
    let lines = std::env::var("HOURGLASS_TEST_LINES").ok();
    let lines: u64 = lines.map_or(20_000, |text| text.parse().unwrap());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seeded().random::<[u8; 32]>());
    let mut runner = TestRunner::new_with_rng(ProptestConfig::default(), rng);
    let strategy = line();
    let mut differences: BTreeMap<Option<Difference>, u64> = BTreeMap::new();
    for _ in 0..lines {
        let text = strategy.new_tree(&mut runner).unwrap().current();
        let found = difference(&text).unwrap_or_else(|told| panic!("unexplained: {told}"));
        *differences.entry(found).or_default() += 1;
    }
    println!("{lines} lines: {differences:?}");
    let same = differences[&None];
    assert!(same > lines / 2, "only {same} of {lines} are read alike");
}

/// The forms in which the two differ, pinned: a peer that changes its mind, or a
/// decoder of ours that does, shows here.
#[test]
fn the_named_differences_are_as_described() {
    for (text, expected) in [
        ("m,s=1 a=1,b=2i 5", None),
        (r"m\ x,s\==\,1 a\ b=t", None),
        ("m a=9007199254740993i", Some(Difference::OurRule)),
        ("m a=1,a=2", Some(Difference::OurRule)),
        ("m a=1e301", Some(Difference::OurRule)),
        ("m a=1,b,c=2", Some(Difference::CommaInKey)),
        ("m,a==b x=1", Some(Difference::EqualsInTag)),
        ("m a=1 ", Some(Difference::SpaceAtEnd)),
        (r"m\\x a=1", Some(Difference::BackslashTwice)),
        (" =a c\"i=\"b\n=\"", Some(Difference::SpaceAtStart)),
        ("m a=5.", Some(Difference::NumberForm)),
        ("m a=1,b=\"x\",\tc=\"y\"", Some(Difference::Tab)),
        (r"m \\ =1", Some(Difference::BackslashAtEnd)),
        ("m a=.5", Some(Difference::NumberForm)),
        ("m a=+1", Some(Difference::NumberForm)),
    ] {
        assert_eq!(difference(text), Ok(expected), "{text}");
    }
}
