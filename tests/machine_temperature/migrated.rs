//! The real readings after the way from the embedded store to MongoDB and back:
//! the same table on all three.

use super::{send, table};
use crate::migrate::there_and_back::{embedded, migrate};
use crate::support::hourglass::Start;
use crate::support::machine_temperature::{HOURS, READINGS};
use crate::support::mongod::TestDatabase;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_table_is_the_same_after_the_way_to_mongodb_and_back() {
    let database = TestDatabase::new().await;
    let uri = database.uri();
    let dirs = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let [first, beside, last] = &dirs;
    let hourglass = Start::on(first.path()).start();
    send::the_file(&hourglass).await;
    table::assert_whole(&hourglass).await;
    assert!(hourglass.stop().0.success());
    for (from, to) in [
        (embedded(first.path()), uri.clone()),
        (uri.clone(), embedded(last.path())),
    ] {
        let (code, stdout, stderr) = migrate(&from, &to);
        assert_eq!(code, Some(0), "{stdout}{stderr}");
        let report = format!(
            "{HOURS} buckets copied, 0 there already, 0 done by an earlier run; 1 sensors, \
             0 sites; 0 not copied\ncompared: {HOURS} buckets with {READINGS} readings are the \
             same, 0 records differ\n"
        );
        assert_eq!(stdout, report);
        let begun = "copying: 0 buckets (0 %), 0 readings\n";
        assert!(stderr.contains(begun), "{stderr}");
        let compares = "comparing: 0 buckets (0 %), 0 readings\n";
        assert!(stderr.contains(compares), "{stderr}");
    }
    for start in [Start::on(beside.path()).store(&uri), Start::on(last.path())] {
        start.verify();
        let hourglass = start.start();
        table::assert_whole(&hourglass).await;
        assert!(hourglass.stop().0.success());
    }
}
