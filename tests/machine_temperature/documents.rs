//! The documents of the real readings, as another client reads them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{ledger, send, table};
use crate::support::machine_temperature::{HOURS, SENSOR, hours, rows};
use crate::support::python::{PYMONGO, run_script};
use crate::support::site::Site;

/// What the script says of one part of the database.
fn print_buckets(site: &Site) -> Vec<Value> {
    let (uri, name) = (site.database().uri(), &site.database().name);
    let script = "tests/machine_temperature/print_buckets.py";
    let lines = run_script(PYMONGO, script, &[&uri, name], "");
    let parse = |line: String| serde_json::from_str(&line).unwrap();
    lines.into_iter().map(parse).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_hour_is_one_document_as_described() {
    let site = Site::mongodb().await;
    let server = site.start().start();
    send::in_order(&server, &rows(), 5_000).await;
    ledger::at_rest(&server).await;
    drop(server);

    let mut printed = print_buckets(&site);
    let about = printed.remove(0);
    assert_eq!(about["collections"], json!(["buckets", "sensors"]));
    assert_eq!(
        about["indexes"],
        json!({
            "buckets": [
                "_id_",
                "sensorId_1_hour_1_part_1_rev_1_by_1_count_1_computed_1",
            ],
            "sensors": [
                "_id_",
                "attrs.k_1_attrs.v_1__id_1",
                "lastSeen_1__id_1",
                "site.id_1__id_1",
            ],
        })
    );
    assert_eq!(about["sensors"], json!([SENSOR]));

    assert_eq!(printed.len(), HOURS);
    let mut stored: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for row in table::stored_rows() {
        stored.entry(row.hour()).or_default().push(row.temp);
    }
    let fields = [
        "_id", "sensorId", "hour", "part", "rev", "by", "count", "readings", "sumTemp", "computed",
    ];
    for (document, hour) in printed.iter().zip(hours()) {
        let id = format!("{SENSOR}|{}", &hour.hour[..13]);
        assert_eq!(document["_id"], id.as_str());
        assert_eq!(document["fields"], json!(fields), "{id}");
        assert_eq!(document["sensorId"], SENSOR);
        assert_eq!(document["hour"], hour.hour.as_str());
        assert_eq!(document["part"], 0);
        assert_eq!(document["count"], hour.count);
        assert_eq!(document["entryFields"], json!([["sec", "temp"]]), "{id}");
        assert_eq!(document["secTypes"], json!(["int"]), "{id}");
        assert_eq!(document["computedFields"], json!(["temp"]), "{id}");
        assert_eq!(
            document["computedOfTemp"],
            json!(["count", "sum", "min", "max"]),
            "{id}"
        );
        assert_eq!(document["sumTempIsComputedSum"], true, "{id}");
        // Numbers come as texts that Python and Rust read the same to the bit.
        let number = |name: &str| document[name].as_str().unwrap().parse::<f64>().unwrap();
        assert_eq!(number("min").to_bits(), hour.min.to_bits(), "{id}");
        assert_eq!(number("max").to_bits(), hour.max.to_bits(), "{id}");
        assert!((number("sum") - hour.sum).abs() <= 1e-12 * hour.sum, "{id}");
        let temps: Vec<f64> = document["temps"]
            .as_array()
            .unwrap()
            .iter()
            .map(|temp| temp.as_str().unwrap().parse().unwrap())
            .collect();
        assert_eq!(temps, stored[&hour.hour], "{id}");
    }
}
