//! Fields of documents of `sensors` and `sites` that this version does not know.
//! That those it knows are of their types is a matter of decoding. Pure.

use ::mongodb::bson::{Bson, Document};

use super::sensor_document::integer;

/// Of a sensor, by their paths.
pub(super) fn of_sensor(document: &Document) -> Vec<String> {
    let known = [
        "_id",
        "lastSeen",
        "name",
        "model",
        "units",
        "site",
        "attrs",
        "attrsSet",
        "retention",
        "rev",
        "by",
        "recent",
        "recentRev",
        "recentBy",
        "rawDroppedBefore",
    ];
    let mut strange = strange(document, "", &known);
    strange.extend(inside(document, "site", &["id", "name", "city", "rev"]));
    strange.extend(inside(document, "retention", &["hours", "readings"]));
    strange.extend(inside_each(document, "attrs", &["k", "v"]));
    strange.extend(inside_each(document, "recent", &["at", "us", "v"]));
    strange.extend(versions(document, &["rev", "recentRev"]));
    strange
}

/// Of a site, by their paths.
pub(super) fn of_site(document: &Document) -> Vec<String> {
    let known = [
        "_id",
        "name",
        "city",
        "address",
        "timeZone",
        "notes",
        "position",
        "contacts",
        "retention",
        "rev",
        "by",
        "copies",
    ];
    let mut strange = strange(document, "", &known);
    strange.extend(inside(document, "position", &["latitude", "longitude"]));
    strange.extend(inside(document, "retention", &["hours", "readings"]));
    strange.extend(inside(document, "copies", &["after", "done"]));
    let contact = ["name", "role", "email", "phone"];
    strange.extend(inside_each(document, "contacts", &contact));
    strange.extend(versions(document, &["rev"]));
    strange
}

fn strange(document: &Document, path: &str, known: &[&str]) -> Vec<String> {
    let names = document
        .keys()
        .filter(|name| !known.contains(&name.as_str()));
    names
        .map(|name| format!("{path}{name} is no field that is known here"))
        .collect()
}

fn inside(document: &Document, field: &str, known: &[&str]) -> Vec<String> {
    match document.get_document(field) {
        Ok(inner) => strange(inner, &format!("{field}."), known),
        Err(_) => Vec::new(),
    }
}

fn inside_each(document: &Document, field: &str, known: &[&str]) -> Vec<String> {
    let Ok(list) = document.get_array(field) else {
        return Vec::new();
    };
    let inner = list.iter().map(Bson::as_document).enumerate();
    inner
        .filter_map(|(at, inner)| Some((at, inner?)))
        .flat_map(|(at, inner)| strange(inner, &format!("{field}.{at}."), known))
        .collect()
}

fn versions(document: &Document, fields: &[&str]) -> Vec<String> {
    let below = |field: &&&str| {
        let rev = document.get(**field).and_then(integer);
        rev.is_some_and(|rev| rev < 1)
    };
    let below = fields.iter().filter(below);
    below.map(|field| format!("{field} is below 1")).collect()
}

#[cfg(test)]
mod tests {
    use ::mongodb::bson::doc;

    use super::*;

    #[test]
    fn what_is_unknown_is_named_wherever_it_stands() {
        let sensor = doc! {
            "_id": "S1", "name": "a", "colour": 1, "rev": 0, "by": 1, "recentRev": 1,
            "site": { "id": "B1", "rev": 1, "zip": 2 },
            "attrs": [{ "k": "a", "v": "b" }, { "k": "a", "v": "b", "w": 1 }],
            "recent": [{ "at": 1, "v": { "anything": 1 }, "us": 3, "x": 1 }],
            "retention": { "hours": 1, "days": 1 },
        };
        let told = [
            "colour is no field that is known here",
            "site.zip is no field that is known here",
            "retention.days is no field that is known here",
            "attrs.1.w is no field that is known here",
            "recent.0.x is no field that is known here",
            "rev is below 1",
        ];
        assert_eq!(of_sensor(&sensor), told);
        let site = doc! {
            "_id": "B1", "model": "a", "rev": 1,
            "position": { "latitude": 1.0, "longitude": 1.0, "height": 1.0 },
            "contacts": [{ "name": "a", "fax": "b" }],
            "copies": { "done": 1, "left": 1 },
        };
        let told = [
            "model is no field that is known here",
            "position.height is no field that is known here",
            "copies.left is no field that is known here",
            "contacts.0.fax is no field that is known here",
        ];
        assert_eq!(of_site(&site), told);
    }
}
