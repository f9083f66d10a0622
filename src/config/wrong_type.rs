//! Wrong types, said in the words of this product.

use figment::error::{Actual, Kind};

use super::error::Problem;
use super::mask::mask;

/// A wrong type, in our words.
pub(super) fn wrong_type(error: figment::Error) -> Problem {
    let key = error.path.join(".");
    let source = error.metadata.map_or_else(
        || "an unknown source".to_owned(),
        |metadata| metadata.name.to_string(),
    );
    let (value, expected) = match error.kind {
        Kind::InvalidType(actual, expected) | Kind::InvalidValue(actual, expected) => {
            (show(actual), expected)
        }
        other => (mask(&other.to_string()), "another value".to_owned()),
    };
    let expected = match expected.as_str() {
        "i64" => "a whole number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a string" => "a text in quotes".to_owned(),
        _ => expected,
    };
    Problem::BadValue {
        key,
        source,
        value,
        expected,
    }
}

fn show(actual: Actual) -> String {
    match actual {
        Actual::Str(text) => format!("{:?}", mask(&text)),
        Actual::Bool(truth) => truth.to_string(),
        Actual::Unsigned(number) => number.to_string(),
        Actual::Signed(number) => number.to_string(),
        Actual::Float(number) => number.to_string(),
        Actual::Seq => "a list".to_owned(),
        Actual::Map => "a section".to_owned(),
        other => other.to_string(),
    }
}
