//! The designs that the patterns replace, filled with the same readings and
//! asked the same questions, by a client of the test's own.

use futures_util::TryStreamExt;
use mongodb::Database;
use mongodb::bson::{DateTime, Document, doc};

use super::fleet::{
    FIRST_HOUR, MONTH_HOURS, SENSORS_A_SITE, SITES, attributes, hours_of, last_seen, readings_of,
    sensor, site,
};

/// One document a reading, with the index that finds a sensor's range.
pub(super) const READINGS: &str = "without_readings";
/// Sensors that name their site and carry nothing of it.
pub(super) const SENSORS: &str = "without_sensors";
/// Whole sites.
pub(super) const SITES_APART: &str = "without_sites";

fn date(micros: i64) -> DateTime {
    DateTime::from_millis(micros / 1000)
}

fn hour_date(hour: i32) -> DateTime {
    DateTime::from_millis(i64::from(hour) * 3_600_000)
}

/// Fills all of them.
pub(super) async fn fill(database: &Database) {
    let readings = database.collection::<Document>(READINGS);
    let index = mongodb::IndexModel::builder().keys(doc! { "sensorId": 1, "at": 1 });
    readings.create_index(index.build()).await.unwrap();
    for number in 0..SITES * SENSORS_A_SITE {
        let documents = hours_of(number).flat_map(readings_of).map(|(at, temp)| {
            doc! { "sensorId": sensor(number).as_str(), "at": date(at.get()), "temp": temp }
        });
        let documents: Vec<Document> = documents.collect();
        readings.insert_many(documents).await.unwrap();
    }
    let sensors = (0..SITES * SENSORS_A_SITE).map(|number| {
        // Attributes as fields of their own, as they would come to mind first.
        let mut document = doc! {
            "_id": sensor(number).as_str(),
            "siteId": site(number / SENSORS_A_SITE).as_str(),
            "lastSeen": date(last_seen(number).get()),
        };
        for (key, value) in attributes(number).iter() {
            document.insert(key, value);
        }
        document
    });
    let sensors: Vec<Document> = sensors.collect();
    let collection = database.collection::<Document>(SENSORS);
    collection.insert_many(sensors).await.unwrap();
    let index = mongodb::IndexModel::builder().keys(doc! { "siteId": 1 });
    collection.create_index(index.build()).await.unwrap();
    let sites = (0..SITES).map(|number| {
        doc! { "_id": site(number).as_str(), "name": format!("Plant {number}"), "city": "Bern" }
    });
    let sites: Vec<Document> = sites.collect();
    let collection = database.collection::<Document>(SITES_APART);
    collection.insert_many(sites).await.unwrap();
}

async fn find(database: &Database, collection: &str, filter: Document) -> Vec<Document> {
    let collection = database.collection::<Document>(collection);
    // As one batch, as far as the server allows: the comparison is about reads.
    let found = collection.find(filter).batch_size(1_000_000).await.unwrap();
    found.try_collect().await.unwrap()
}

async fn aggregate(database: &Database, collection: &str, stages: Vec<Document>) -> Vec<Document> {
    let collection = database.collection::<Document>(collection);
    let found = collection.aggregate(stages).await.unwrap();
    found.try_collect().await.unwrap()
}

/// Bucket: a month of readings of a sensor, each a document.
pub(super) async fn month_of_readings(database: &Database) -> usize {
    let month = doc! { "$gte": hour_date(FIRST_HOUR), "$lt": hour_date(FIRST_HOUR + MONTH_HOURS) };
    let filter = doc! { "sensorId": sensor(0).as_str(), "at": month };
    find(database, READINGS, filter).await.len()
}

/// Computed: a month of hours, added up when they are asked for.
pub(super) async fn month_of_hours(database: &Database) -> usize {
    let month = doc! { "$gte": hour_date(FIRST_HOUR), "$lt": hour_date(FIRST_HOUR + MONTH_HOURS) };
    let stages = vec![
        doc! { "$match": { "sensorId": sensor(0).as_str(), "at": month } },
        doc! { "$group": {
            "_id": { "$dateTrunc": { "date": "$at", "unit": "hour" } },
            "count": { "$sum": 1 }, "sum": { "$sum": "$temp" },
            "min": { "$min": "$temp" }, "max": { "$max": "$temp" },
        } },
    ];
    aggregate(database, READINGS, stages).await.len()
}

/// Computed: the same from buckets that have no computed fields.
pub(super) async fn month_of_hours_from_buckets(database: &Database) -> usize {
    let month = doc! { "$gte": hour_date(FIRST_HOUR), "$lt": hour_date(FIRST_HOUR + MONTH_HOURS) };
    let stages = vec![
        doc! { "$match": { "sensorId": sensor(0).as_str(), "hour": month } },
        doc! { "$project": { "hour": 1, "count": { "$size": "$readings" },
        "sum": { "$sum": "$readings.temp" } } },
    ];
    aggregate(database, "buckets", stages).await.len()
}

/// Computed: the hours of a day of a site, from buckets without computed fields.
pub(super) async fn day_of_a_site(database: &Database) -> usize {
    let end = FIRST_HOUR + MONTH_HOURS;
    let sensors = find(database, SENSORS, doc! { "siteId": site(0).as_str() }).await;
    let ids: Vec<&str> = sensors.iter().map(|s| s.get_str("_id").unwrap()).collect();
    let day = doc! { "$gte": hour_date(end - 24), "$lt": hour_date(end) };
    let stages = vec![
        doc! { "$match": { "sensorId": { "$in": ids }, "hour": day } },
        doc! { "$group": { "_id": "$hour", "sum": { "$sum": { "$sum": "$readings.temp" } } } },
    ];
    aggregate(database, "buckets", stages).await.len()
}

/// Extended Reference: all sensors with the names of their sites, joined.
pub(super) async fn sensors_with_sites(database: &Database) -> usize {
    let stages = vec![
        doc! { "$sort": { "_id": 1 } },
        doc! { "$lookup": {
            "from": SITES_APART, "localField": "siteId", "foreignField": "_id", "as": "site",
        } },
    ];
    aggregate(database, SENSORS, stages).await.len()
}

/// Subset: the page of a sensor, from its record and its newest buckets.
pub(super) async fn page_of_a_sensor(database: &Database) -> usize {
    let sensors = find(database, SENSORS, doc! { "_id": sensor(0).as_str() }).await;
    let buckets = database.collection::<Document>("buckets");
    let newest = buckets.find(doc! { "sensorId": sensor(0).as_str() });
    let newest = newest
        .sort(doc! { "sensorId": -1, "hour": -1 })
        .limit(1)
        .await;
    let newest: Vec<Document> = newest.unwrap().try_collect().await.unwrap();
    sensors.len() + newest.len()
}

/// Subset: the newest reading of every sensor, from the newest buckets.
pub(super) async fn latest_of_all(database: &Database) -> usize {
    let ids: Vec<String> = super::fleet::sensors()
        .iter()
        .map(|sensor| sensor.as_str().to_owned())
        .collect();
    let stages = vec![
        doc! { "$match": { "sensorId": { "$in": ids } } },
        doc! { "$sort": { "sensorId": -1, "hour": -1 } },
        doc! { "$group": { "_id": "$sensorId", "hour": { "$first": "$hour" } } },
    ];
    let newest = aggregate(database, "buckets", stages).await;
    let keys: Vec<Document> = newest
        .iter()
        .map(|row| doc! { "sensorId": row.get_str("_id").unwrap(), "hour": row.get("hour").unwrap() })
        .collect();
    find(database, "buckets", doc! { "$or": keys }).await.len()
}

/// Attribute: two attributes, each a field that has no index.
pub(super) async fn by_two_attributes(database: &Database) -> usize {
    let filter = doc! { "firmware": "2.1", "room": "1b" };
    find(database, SENSORS, filter).await.len()
}
