//! As line protocol by InfluxDB's endpoints, in every precision: one table. The
//! file's times are whole minutes, so all fit but hours.

use jiff::Timestamp;

use super::ledger::{Ledger, at_rest};
use super::table;
use crate::support::hourglass::Hourglass;
use crate::support::machine_temperature::{CONFLICTS, READINGS, ROWS, Row, SENSOR, rows};
use crate::support::site::Site;

const BATCH_ROWS: usize = 5_000;

/// Each precision, and how many of it make a minute.
const PRECISIONS: [(&str, i64); 5] = [
    ("ns", 60_000_000_000),
    ("us", 60_000_000),
    ("ms", 60_000),
    ("s", 60),
    ("m", 1),
];

fn line(row: &Row, per_minute: i64) -> String {
    let at: Timestamp = row.at.parse().unwrap();
    assert_eq!(at.as_second() % 60, 0, "{row:?}");
    let time = at.as_second() / 60 * per_minute;
    format!("machine,sensor_id={SENSOR} temp={} {time}\n", row.temp)
}

async fn send(server: &Hourglass, path: &str, per_minute: i64) {
    for rows in rows().chunks(BATCH_ROWS) {
        let body: String = rows.iter().map(|row| line(row, per_minute)).collect();
        let request = server.http().post(server.url(path)).body(body);
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 204, "{path}");
    }
}

/// The first precision brings the readings; each further one must find every
/// one of them there, to the bit.
async fn in_every_precision(site: &Site, path: &str) {
    let server = site.start().start();
    for (sent, (precision, per_minute)) in (1..).zip(PRECISIONS) {
        send(
            &server,
            &format!("{path}&precision={precision}"),
            per_minute,
        )
        .await;
        table::assert_whole(&server).await;
        let rows = ROWS as u64 * sent;
        assert_eq!(
            at_rest(&server).await,
            Ledger {
                received: rows,
                accepted: rows,
                values_accepted: rows,
                values_stored: READINGS,
                values_duplicate: READINGS * (sent - 1),
                values_conflict: CONFLICTS * sent,
                ..Ledger::default()
            },
            "{precision}"
        );
    }
    let server = site.restart_from_the_store(server, &site.start());
    table::assert_whole(&server).await;
    assert_eq!(at_rest(&server).await, Ledger::default());
}

pub(super) async fn by_version_1_in_every_precision(site: &Site) {
    in_every_precision(site, "/write?db=plant").await;
}

pub(super) async fn by_version_2_in_every_precision(site: &Site) {
    in_every_precision(site, "/api/v2/write?org=acme&bucket=plant").await;
}
