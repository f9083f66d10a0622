//! Documents of `sensors` and `sites` with what is not known: told, and written to
//! by no repair of something else.

use mongodb::bson::{Document, doc};
use serde_json::json;

use super::assert_tells;
use super::mongodb::{all, change, filled};
use crate::support::hourglass::{Hourglass, Start};

#[tokio::test(flavor = "multi_thread")]
async fn records_with_what_is_not_known_are_told_and_never_written_to() {
    let (database, opened) = filled(&["S1", "S2", "S3", "S4"]).await;
    let uri = database.uri();
    let data = tempfile::tempdir().unwrap();
    let hourglass = Start::on(data.path()).store(&uri).start();
    for (path, body) in [
        ("/v1/sites/B1", json!({ "name": "Mill", "city": "Zug" })),
        ("/v1/sites/B2", json!({ "name": "Dam", "city": "Chur" })),
        ("/v1/sensors/S1", json!({ "site": "B1" })),
        ("/v1/sensors/S2", json!({ "site": "B1" })),
        ("/v1/sensors/S3", json!({ "site": "B2" })),
    ] {
        let request = hourglass.http().put(hourglass.url(path)).json(&body);
        assert!(
            request.send().await.unwrap().status().is_success(),
            "{path}"
        );
    }
    assert!(hourglass.stop().0.success());
    let sensors = opened.collection::<Document>("sensors");
    let sites = opened.collection::<Document>("sites");
    let of = |id: &str| doc! { "_id": id };
    // Stale copies of B1 and B2, a list of newest readings that lacks one; beside
    // them what is not known: in another sensor at B1, in B2 itself, in S4.
    for sensor in ["S1", "S3"] {
        let stale = doc! { "$set": { "site.name": "Tower" } };
        change(&sensors, of(sensor), stale).await;
    }
    change(&sensors, of("S4"), doc! { "$pop": { "recent": -1 } }).await;
    change(&sensors, of("S2"), doc! { "$set": { "site.zip": 1 } }).await;
    change(&sensors, of("S4"), doc! { "$set": { "colour": 1 } }).await;
    change(&sites, of("B2"), doc! { "$set": { "height": 1 } }).await;
    let dir = tempfile::tempdir().unwrap();
    let before = (all(&sensors).await, all(&sites).await);
    let found = [
        "document \"S2\": not understood: site.zip is no field that is known here",
        "document \"S4\": not understood: colour is no field that is known here",
        "document \"B2\": not understood: height is no field that is known here",
        "sensor S1: its copy of site B1 is not what the site says",
        "sensor S3: its copy of site B2 is not what the site says",
        "sensor S4: its 19 newest readings are not those of its buckets",
    ];
    assert_tells(dir.path(), &uri, false, &found);
    let left = [
        "site B1: its copies are not repaired",
        "site B2: its copies are not repaired",
        "sensor S4: not repaired: its record holds what is not understood",
    ];
    let said = assert_tells(dir.path(), &uri, true, &[&found[..], &left].concat());
    let totals = "4 sensors: newest readings of 1 differ, 0 repaired; copies of sites of 2 differ, \
                  0 repaired; 0 records damaged, 3 not understood";
    assert!(said.contains(totals), "{said}");
    assert_eq!((all(&sensors).await, all(&sites).await), before);

    // Once that is gone the rest is mended.
    change(&sensors, of("S2"), doc! { "$unset": { "site.zip": "" } }).await;
    change(&sensors, of("S4"), doc! { "$unset": { "colour": "" } }).await;
    change(&sites, of("B2"), doc! { "$unset": { "height": "" } }).await;
    super::assert_ends_well(dir.path(), &uri, true);
    super::assert_ends_well(dir.path(), &uri, false);
}

#[tokio::test(flavor = "multi_thread")]
async fn records_that_cannot_be_read_are_told_and_hide_no_other() {
    let (database, opened) = filled(&["S1", "S2", "S3"]).await;
    let sensors = opened.collection::<Document>("sensors");
    let sites = opened.collection::<Document>("sites");
    let of = |id: &str| doc! { "_id": id };
    change(&sensors, of("S1"), doc! { "$set": { "lastSeen": "noon" } }).await;
    change(&sensors, of("S2"), doc! { "$set": { "recent": [1] } }).await;
    change(&sensors, of("S3"), doc! { "$pop": { "recent": -1 } }).await;
    sensors.insert_one(doc! { "_id": 7 }).await.unwrap();
    sites
        .insert_one(doc! { "_id": "B1", "name": 7 })
        .await
        .unwrap();
    let before = all(&sensors).await;
    let dir = tempfile::tempdir().unwrap();
    let lines = [
        "sensor \"S1\": not understood: lastSeen is no date",
        "sensor \"S2\": not understood: recent is no list",
        "sensor \"\": _id is no sensor id",
        "site \"B1\": not understood: name is unreadable",
        "sensor S3: its 19 newest readings are not those of its buckets",
        "sensor S3: repaired",
    ];
    let said = assert_tells(dir.path(), &database.uri(), true, &lines);
    assert!(
        said.contains("1 records damaged, 3 not understood"),
        "{said}"
    );
    let after = all(&sensors).await;
    let unread = |all: &[Document]| -> Vec<Document> {
        let others = all
            .iter()
            .filter(|one| one.get_str("_id").ok() != Some("S3"));
        others.cloned().collect()
    };
    assert_eq!(unread(&after), unread(&before));
}

#[tokio::test(flavor = "multi_thread")]
async fn newest_readings_stand_newest_first_and_once() {
    let (database, opened) = filled(&["S1", "S2", "S3"]).await;
    let sensors = opened.collection::<Document>("sensors");
    let of = |id: &str| doc! { "_id": id };
    let before = all(&sensors).await;
    for (id, order) in [("S1", -1), ("S2", 1)] {
        let found = sensors.find_one(of(id)).await.unwrap().unwrap();
        let mut recent = found.get_array("recent").unwrap().clone();
        match order {
            -1 => recent.reverse(),
            _ => recent.insert(0, recent[0].clone()),
        }
        change(&sensors, of(id), doc! { "$set": { "recent": recent } }).await;
    }
    let dir = tempfile::tempdir().unwrap();
    let lines = [
        "sensor S1: its 20 newest readings are not those of its buckets",
        "sensor S2: its 21 newest readings are not those of its buckets",
    ];
    let said = assert_tells(dir.path(), &database.uri(), false, &lines);
    assert!(!said.contains("sensor S3"), "{said}");
    super::assert_ends_well(dir.path(), &database.uri(), true);
    let recent = |all: Vec<Document>| -> Vec<Document> {
        let recent = |one: Document| doc! { "recent": one.get("recent") };
        all.into_iter().map(recent).collect()
    };
    assert_eq!(recent(all(&sensors).await), recent(before));
}

/// Numbers in `attrs`: lists by ranges go by them, so a sensor without is missed.
#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_is_a_number_has_it_beside_it() {
    let (database, opened) = filled(&["S1", "S2", "S3"]).await;
    let uri = database.uri();
    let data = tempfile::tempdir().unwrap();
    let start = Start::on(data.path()).store(&uri);
    let hourglass = start.start();
    let put = async |hourglass: &Hourglass, sensor: &str| {
        let attributes = json!({ "attributes": { "floor": "2.5", "room": "4b" } });
        let request = hourglass.http().put(hourglass.url(sensor));
        let answer = request.json(&attributes).send().await.unwrap();
        assert!(answer.status().is_success(), "{sensor}");
    };
    let in_range = async |hourglass: &Hourglass| {
        let (_, page) = hourglass.get("/v1/sensors?attr_min.floor=2").await;
        page["sensors"].as_array().unwrap().len()
    };
    for sensor in ["/v1/sensors/S1", "/v1/sensors/S2", "/v1/sensors/S3"] {
        put(&hourglass, sensor).await;
    }
    assert_eq!(in_range(&hourglass).await, 3);
    assert!(hourglass.stop().0.success());
    let dir = tempfile::tempdir().unwrap();
    super::assert_ends_well(dir.path(), &uri, false);
    let sensors = opened.collection::<Document>("sensors");
    let of = |id: &str| doc! { "_id": id };
    let gone = doc! { "$pull": { "attrs": { "k": "floor", "v": 2.5 } } };
    change(&sensors, of("S1"), gone).await;
    let added = doc! { "$push": { "attrs": { "k": "room", "v": 4.0 } } };
    change(&sensors, of("S2"), added).await;
    let before = all(&sensors).await;
    let lines = [
        "document \"S1\": attrs lacks the number 2.5 of \"floor\"",
        "document \"S2\": attrs has the number 4 for \"room\", which its text does not say",
    ];
    for repair in [false, true] {
        let said = assert_tells(dir.path(), &uri, repair, &lines);
        assert!(
            said.contains("2 records damaged, 0 not understood"),
            "{said}"
        );
        assert_eq!(all(&sensors).await, before);
    }
    // Put again they are right.
    let hourglass = start.start();
    assert_eq!(in_range(&hourglass).await, 2);
    for sensor in ["/v1/sensors/S1", "/v1/sensors/S2"] {
        put(&hourglass, sensor).await;
    }
    assert_eq!(in_range(&hourglass).await, 3);
    assert!(hourglass.stop().0.success());
    super::assert_ends_well(dir.path(), &uri, false);
}
