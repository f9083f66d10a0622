//! The numbers in `attrs` against the texts they stand beside, see
//! [`sensor_document`](super::sensor_document). Pure.

use ::mongodb::bson::{Bson, Document};

use crate::model::{Tags, attribute_number};

/// What the numbers of a document that can be read lack, or have and should not.
/// Any type of number will do: the server compares them by value.
pub(super) fn untrue(document: &Document, texts: &Tags) -> Vec<String> {
    let elements = document.get_array("attrs").into_iter().flatten();
    let number = |element: &Bson| {
        let element = element.as_document()?;
        let number = match element.get("v")? {
            Bson::Double(number) => *number,
            Bson::Int32(number) => f64::from(*number),
            Bson::Int64(number) => *number as f64,
            _ => return None,
        };
        Some((element.get_str("k").ok()?.to_owned(), number))
    };
    let numbers: Vec<(String, f64)> = elements.filter_map(number).collect();
    let stands = |key: &str, of: f64| numbers.iter().any(|(k, v)| k == key && *v == of);
    let lacking = texts.iter().filter_map(|(key, text)| {
        let number = attribute_number(text)?;
        (!stands(key, number)).then(|| {
            format!("attrs lacks the number {number} of {key:?}: lists by ranges of it do not show the sensor")
        })
    });
    let false_ones = numbers.iter().filter_map(|(key, number)| {
        let is_true = texts.get(key).and_then(attribute_number) == Some(*number);
        (!is_true).then(|| {
            format!("attrs has the number {number} for {key:?}, which its text does not say")
        })
    });
    lacking.chain(false_ones).collect()
}

#[cfg(test)]
mod tests {
    use ::mongodb::bson::doc;

    use super::*;

    #[test]
    fn every_text_that_is_a_number_has_it_beside_it_and_no_other() {
        let texts = Tags::new([
            ("floor", "2.5"),
            ("room", "4b"),
            ("row", "-0"),
            ("x", "007"),
        ]);
        let right = doc! { "attrs": [
            { "k": "floor", "v": "2.5" }, { "k": "floor", "v": 2.5 }, { "k": "room", "v": "4b" },
            { "k": "row", "v": "-0" }, { "k": "row", "v": 0 },
            { "k": "x", "v": "007" }, { "k": "x", "v": 7_i64 },
        ] };
        assert_eq!(untrue(&right, &texts), [""; 0]);
        let wrong = doc! { "attrs": [
            { "k": "floor", "v": 2.25 }, { "k": "room", "v": 4.0 }, { "k": "row", "v": 0.0 },
            { "k": "gone", "v": 1.0 }, { "k": "x", "v": f64::NAN },
        ] };
        let told = [
            "attrs lacks the number 2.5 of \"floor\": lists by ranges of it do not show the sensor",
            "attrs lacks the number 7 of \"x\": lists by ranges of it do not show the sensor",
            "attrs has the number 2.25 for \"floor\", which its text does not say",
            "attrs has the number 4 for \"room\", which its text does not say",
            "attrs has the number 1 for \"gone\", which its text does not say",
            "attrs has the number NaN for \"x\", which its text does not say",
        ];
        assert_eq!(untrue(&wrong, &texts), told);
        assert_eq!(untrue(&doc! {}, &Tags::default()), [""; 0]);
    }
}
