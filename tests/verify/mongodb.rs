//! Documents that people, or another version, wrote into `buckets`: what is not
//! known is told and stays, and so does what is damaged; queries go on.

use mongodb::bson::{Bson, Document, doc};
use mongodb::{Collection, Database};

use super::assert_tells;
use crate::operation::builders::{count, post, until_stored};
use crate::support::hourglass::Start;
use crate::support::mongod::TestDatabase;

pub(super) async fn all(collection: &Collection<Document>) -> Vec<Document> {
    let mut cursor = collection
        .find(doc! {})
        .sort(doc! { "_id": 1 })
        .await
        .unwrap();
    let mut all = Vec::new();
    while cursor.advance().await.unwrap() {
        all.push(cursor.deserialize_current().unwrap());
    }
    all
}

/// A database with an hour of each sensor, 30 readings each.
pub(super) async fn filled(sensors: &[&str]) -> (TestDatabase, Database) {
    let database = TestDatabase::new().await;
    let dir = tempfile::tempdir().unwrap();
    let hourglass = Start::on(dir.path()).store(&database.uri()).start();
    for sensor in sensors {
        post(&hourglass, sensor, 0..30).await;
    }
    until_stored(&hourglass).await;
    assert!(hourglass.stop().0.success());
    let opened = database.open().await;
    (database, opened)
}

pub(super) async fn change(collection: &Collection<Document>, filter: Document, change: Document) {
    let changed = collection.update_one(filter, change).await.unwrap();
    assert_eq!(changed.modified_count, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_known_is_told_by_its_field_and_never_written_to() {
    let kinds = [
        (
            "S01",
            doc! { "$set": { "colour": "red" } },
            "colour is no field that is known here",
        ),
        (
            "S02",
            doc! { "$set": { "summary": 1 } },
            "summary is no field that is known here",
        ),
        (
            "S03",
            doc! { "$set": { "full": "yes" } },
            "full is no boolean",
        ),
        (
            "S04",
            doc! { "$set": { "rawDropped": 0 } },
            "rawDropped is no boolean",
        ),
        (
            "S05",
            doc! { "$set": { "rev": "7" } },
            "rev is no whole number",
        ),
        ("S06", doc! { "$set": { "rev": 0_i64 } }, "rev is below 1"),
        (
            "S07",
            doc! { "$set": { "by": 1.5 } },
            "by is no whole number",
        ),
        (
            "S08",
            doc! { "$set": { "count": "30" } },
            "count is no whole number from 0",
        ),
        (
            "S09",
            doc! { "$set": { "sumTemp": "1" } },
            "sumTemp is no number",
        ),
        (
            "S10",
            doc! { "$set": { "computed.temp.median": 1.0 } },
            "computed.temp.median is no field that is known here",
        ),
        (
            "S11",
            doc! { "$set": { "computed.temp.max": "9" } },
            "computed.temp.max is no number",
        ),
        (
            "S12",
            doc! { "$set": { "computed": [] } },
            "computed is no document",
        ),
    ];
    let sensors: Vec<&str> = kinds.iter().map(|(sensor, ..)| *sensor).collect();
    let (database, opened) = filled(&[&["S00"], &sensors[..]].concat()).await;
    let buckets = opened.collection::<Document>("buckets");
    let mut lines = Vec::new();
    for (sensor, planted, told) in &kinds {
        let of = doc! { "sensorId": sensor };
        change(&buckets, of, planted.clone()).await;
        lines.push(format!(
            "document \"{sensor}|2026-05-01T10\": not understood: {told}"
        ));
    }
    // In one of them, and in one that is understood, the fields are false too.
    for sensor in ["S00", "S01"] {
        let falsified = doc! { "$inc": { "computed.temp.sum": 0.5 } };
        change(&buckets, doc! { "sensorId": sensor }, falsified).await;
    }
    let before = all(&buckets).await;
    let dir = tempfile::tempdir().unwrap();
    let mut lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    lines.push("S01|2026-05-01T10 computed.temp is ");
    let said = assert_tells(dir.path(), &database.uri(), false, &lines);
    assert!(
        said.contains("2 parts differ, 0 repaired, 0 buckets damaged, 12 not understood"),
        "{said}"
    );
    assert_eq!(all(&buckets).await, before);
    lines.push("S01|2026-05-01T10: not repaired: it holds what is not understood");
    for differ in ["2 parts differ, 1 repaired", "1 parts differ, 0 repaired"] {
        let said = assert_tells(dir.path(), &database.uri(), true, &lines);
        assert!(said.contains(differ), "{said}");
        let after = all(&buckets).await;
        assert_ne!(after[0], before[0], "S00 is repaired");
        assert_eq!(after[1..], before[1..]);
    }
    // Reads are lenient where the fields they know are there.
    let data = tempfile::tempdir().unwrap();
    let hourglass = Start::on(data.path()).store(&database.uri()).start();
    for sensor in ["S00", "S01", "S02", "S03", "S04", "S06", "S09", "S10"] {
        assert_eq!(count(&hourglass, sensor).await, 30, "{sensor}");
    }
    assert!(hourglass.stop().0.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_contradicts_itself_is_told_and_stays() {
    let with = |sensor: &'static str, set: Document, told: &'static str| {
        (sensor, doc! { "$set": set }, told)
    };
    let without = |sensor: &'static str, field: &str, told: &'static str| {
        (sensor, doc! { "$unset": { field: "" } }, told)
    };
    let kinds = [
        with(
            "S1",
            doc! { "sensorId": "S1x" },
            "_id does not belong to its sensorId, hour and part",
        ),
        with(
            "S2",
            doc! { "part": 3 },
            "_id does not belong to its sensorId, hour and part",
        ),
        with(
            "S3",
            doc! { "hour": "2026-05-01T10" },
            "hour is no date of a whole hour",
        ),
        with("S4", doc! { "readings": "none" }, "readings is no array"),
        with(
            "S5",
            doc! { "readings.3.sec": 3600 },
            "readings.3 has a sec that is no whole microsecond",
        ),
        with(
            "S6",
            doc! { "readings.3.sec": 3.000_000_000_1 },
            "readings.3.sec is 3.0000000001, which is not exact to the microsecond",
        ),
        without("S7", "rev", "rev is no whole number"),
        without("S8", "computed", "computed is no document"),
        without("S9", "readings", "readings is no array"),
    ];
    let sensors: Vec<&str> = kinds.iter().map(|(sensor, ..)| *sensor).collect();
    let (database, opened) = filled(&[&["S0"], &sensors[..]].concat()).await;
    let buckets = opened.collection::<Document>("buckets");
    let mut lines = Vec::new();
    for (sensor, planted, told) in &kinds {
        let of = doc! { "sensorId": sensor };
        change(&buckets, of, planted.clone()).await;
        lines.push(format!("document \"{sensor}|2026-05-01T10\": {told}"));
    }
    // An hour that does not begin one, and what is nothing at all.
    buckets
        .insert_one(doc! { "_id": 7, "sensorId": "S0", "hour": Bson::Null })
        .await
        .unwrap();
    lines.push("document 7: hour is no date of a whole hour".to_owned());
    // A reading without a value, and one that stands twice.
    for (id, reading) in [
        ("Sa", doc! { "sec": 1 }),
        ("Sb", doc! { "sec": 29, "temp": 3.625 }),
    ] {
        let mut copy = buckets
            .find_one(doc! { "_id": "S0|2026-05-01T10" })
            .await
            .unwrap()
            .unwrap();
        copy.insert("_id", format!("{id}|2026-05-01T10"));
        copy.insert("sensorId", id);
        let mut readings = copy.get_array("readings").unwrap().clone();
        readings.push(Bson::Document(reading));
        copy.insert("readings", readings);
        buckets.insert_one(copy).await.unwrap();
    }
    lines.push("Sa|2026-05-01T10 has no value in element 30".to_owned());
    lines.push("Sb|2026-05-01T10: 1 values stand twice".to_owned());
    let before = all(&buckets).await;
    let dir = tempfile::tempdir().unwrap();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    for repair in [false, true] {
        let said = assert_tells(dir.path(), &database.uri(), repair, &lines);
        assert!(
            said.contains("0 parts differ, 0 repaired, 12 buckets damaged, 0 not understood"),
            "{said}"
        );
        assert_eq!(all(&buckets).await, before);
    }
}
