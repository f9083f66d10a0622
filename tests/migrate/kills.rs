//! Killed in the middle, more than once, then run again: whole, and nothing twice.

use std::process::{Command, Stdio};

use mongodb::bson::{Document, doc};
use serde_json::{Value, json};

use super::there_and_back::{embedded, migrate};
use crate::support::hourglass::Start;
use crate::support::mongod::TestDatabase;

const HOURS: u64 = 3000;

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_that_is_killed_goes_on_where_it_was() {
    let database = TestDatabase::new().await;
    let uri = database.uri();
    let dir = tempfile::tempdir().unwrap();
    let hourglass = Start::on(dir.path()).start();
    let readings: Vec<Value> = (0..HOURS)
        .map(|hour| {
            let ts = 1_700_000_000 + hour * 3600;
            json!({ "sensorId": format!("S{}", hour % 7), "ts": ts, "temp": hour as f64 / 3.0 })
        })
        .collect();
    let (status, answer) = hourglass.post(&Value::Array(readings)).await;
    assert_eq!((status, &answer["accepted"]), (202, &json!(HOURS)));
    assert!(hourglass.stop().0.success());

    let buckets = database.open().await.collection::<Document>("buckets");
    let mut killed_at = Vec::new();
    for share in [0, 500, 1500] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_hourglass"))
            .args(["migrate", "--from", &embedded(dir.path()), "--to", &uri])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let copied = || async { buckets.count_documents(doc! {}).await.unwrap() };
        while copied().await <= share && child.try_wait().unwrap().is_none() {}
        child.kill().unwrap();
        child.wait().unwrap();
        killed_at.push(copied().await);
    }
    assert!(killed_at[0] < HOURS, "it was cut off: {killed_at:?}");
    let (code, stdout, stderr) = migrate(&embedded(dir.path()), &uri);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    let same = format!("compared: {HOURS} buckets with {HOURS} readings are the same, 0 records");
    assert!(stdout.contains(&same), "{killed_at:?}: {stdout}");
    let mut counts = stdout.split(|c: char| !c.is_ascii_digit());
    let mut count = || counts.find_map(|word| word.parse::<u64>().ok()).unwrap();
    let (copied, there) = (count(), count());
    assert_eq!(copied + there, HOURS, "{stdout}");
    // The server ends a command whose sender was killed, so there may be more.
    assert!(there >= killed_at[2], "{killed_at:?}: {stdout}");
}
