//! What `verify` opens: a store that is there, and nothing is made.

use serde_json::json;

use crate::operation::verify::verify;
use crate::support::hourglass::Start;
use crate::support::mongod::TestDatabase;

#[tokio::test]
async fn a_mistyped_database_is_refused_and_nothing_is_made_there() {
    let database = TestDatabase::new().await;
    let dir = tempfile::tempdir().unwrap();
    let (code, _, stderr) = verify(dir.path(), &database.uri(), false);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(
        stderr.contains("stored nothing in the database"),
        "{stderr}"
    );
    let made = database.open().await.list_collection_names().await;
    assert_eq!(made.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn what_only_the_journal_has_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let start = Start::on(dir.path());
    let hourglass = start.start();
    let reading = json!([{ "sensorId": "S1", "ts": "2026-05-01T10:00:00Z", "temp": 1 }]);
    assert_eq!(hourglass.post(&reading).await.0, 202);
    hourglass.kill_9();
    let warning = "the journal holds readings that may not be in the store yet";
    let (code, _, stderr) = verify(dir.path(), "embedded", false);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains(warning), "{stderr}");
    let hourglass = start.start();
    hourglass.stop();
    let (code, _, stderr) = verify(dir.path(), "embedded", false);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(!stderr.contains(warning), "{stderr}");
}
