//! Queries while readings come in and flushes run (I4, I3): what was
//! acknowledged before the question is in the answer once, nothing is that was
//! not sent before the answer, and hours that nobody writes to are exact.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use rand::seq::SliceRandom;

use super::{ledger, send, table};
use crate::support::hourglass::{Hourglass, Start};
use crate::support::machine_temperature::{
    CONFLICTS, Hour, READINGS, Row, firsts_and_conflicting, rows,
};
use crate::support::seed::seeded;
use crate::support::site::Site;

/// Rows of a batch; they lie in as many hours, so each hour is flushed often.
const BATCH_ROWS: usize = 400;

/// How far the sender is, in rows of the list it sends.
#[derive(Debug, Clone, Copy, Default)]
struct Sent {
    acknowledged: usize,
    begun: usize,
}

struct Sending<'a> {
    rows: &'a [Row],
    at: HashMap<&'a str, usize>,
    sent: Mutex<Sent>,
    ended: AtomicBool,
}

impl<'a> Sending<'a> {
    fn of(rows: &'a [Row]) -> Self {
        let numbered = rows.iter().enumerate();
        Self {
            rows,
            at: numbered
                .map(|(number, row)| (row.at.as_str(), number))
                .collect(),
            sent: Mutex::default(),
            ended: AtomicBool::new(false),
        }
    }

    fn sent(&self) -> Sent {
        *self.sent.lock().unwrap()
    }

    async fn send(&self, server: &Hourglass) {
        for rows in self.rows.chunks(BATCH_ROWS) {
            self.sent.lock().unwrap().begun += rows.len();
            send::batch(server, rows).await;
            self.sent.lock().unwrap().acknowledged += rows.len();
        }
        self.ended.store(true, Ordering::Release);
    }

    /// Asks for the hours until all is sent; the number of complete answers.
    async fn watch_hours(&self, server: &Hourglass) -> usize {
        let mut complete = 0;
        while !self.ended.load(Ordering::Acquire) {
            let before = self.sent();
            let answer = table::hourly(server).await;
            let after = self.sent();
            let told: BTreeMap<&str, _> = answer
                .hours
                .iter()
                .map(|hour| (hour.hour.as_str(), hour))
                .collect();
            assert_eq!(told.len(), answer.hours.len(), "an hour is there twice");
            let acknowledged = hours_of(&self.rows[..before.acknowledged]);
            let begun = hours_of(&self.rows[..after.begun]);
            for (hour, told) in &told {
                let most = &begun[*hour];
                assert!(
                    told.count <= most.count,
                    "{hour}: {} of {most:?}",
                    told.count
                );
                if acknowledged.get(*hour) == Some(most) && answer.complete {
                    told.assert_is(most);
                }
            }
            if answer.complete {
                complete += 1;
                for (hour, least) in &acknowledged {
                    let count = told.get(hour.as_str()).map_or(0, |hour| hour.count);
                    assert!(count >= least.count, "{hour}: {count} of {least:?}");
                }
            }
        }
        complete
    }

    /// Asks for the readings until all is sent; the number of complete answers.
    async fn watch_readings(&self, server: &Hourglass) -> usize {
        let mut complete_answers = 0;
        while !self.ended.load(Ordering::Acquire) {
            let before = self.sent();
            let (readings, complete) = table::readings(server).await;
            let after = self.sent();
            assert!(
                readings.is_sorted_by(|a, b| a.0 < b.0),
                "out of order, or twice"
            );
            let mut acknowledged = 0;
            for (ts, temp) in &readings {
                let number = self.at[ts.as_str()];
                assert_eq!(self.rows[number].temp.to_bits(), temp.to_bits(), "{ts}");
                assert!(number < after.begun, "{ts} was not sent yet");
                acknowledged += usize::from(number < before.acknowledged);
            }
            if complete {
                complete_answers += 1;
                assert_eq!(acknowledged, before.acknowledged);
            }
        }
        complete_answers
    }
}

fn hours_of(rows: &[Row]) -> HashMap<String, Hour> {
    let mut hours: HashMap<String, Hour> = HashMap::new();
    for row in rows {
        let hour = hours.entry(row.hour()).or_insert_with(|| Hour {
            hour: row.hour(),
            count: 0,
            sum: 0.0,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
        });
        hour.count += 1;
        // Twelve values of one size, or whole numbers: within the bound.
        hour.sum += row.temp;
        hour.min = hour.min.min(row.temp);
        hour.max = hour.max.max(row.temp);
    }
    hours
}

/// Sends while both questions are asked, and the least number of complete
/// answers to either.
async fn send_and_watch(server: &Hourglass, sending: &Sending<'_>) -> usize {
    let (_, hours, readings) = tokio::join!(
        sending.send(server),
        sending.watch_hours(server),
        sending.watch_readings(server)
    );
    hours.min(readings)
}

async fn watch(site: &Site, start: &Start) -> usize {
    let (mut firsts, conflicting) = firsts_and_conflicting(rows());
    firsts.shuffle(&mut seeded());
    let server = start.start();
    let sending = Sending::of(&firsts);
    let complete = send_and_watch(&server, &sending).await;
    send::batch(&server, &conflicting).await;
    let ledger = ledger::at_rest(&server).await;
    assert_eq!(ledger.values_stored, READINGS);
    assert_eq!(
        (ledger.values_duplicate, ledger.values_conflict),
        (0, CONFLICTS)
    );
    table::assert_whole(&server).await;
    let server = site.restart_from_the_store(server, start);
    table::assert_whole(&server).await;
    complete
}

pub(super) async fn queries_tell_what_was_acknowledged_while_flushes_run(site: &Site) {
    let start = site.start().set("FLUSH__AGE_MAX", "100ms");
    let complete = watch(site, &start).await;
    assert!(complete > 0, "no answer was complete");
}

/// Hours are forgotten, come back as late data, and the applier has to wait.
pub(super) async fn queries_tell_what_was_acknowledged_with_little_memory(site: &Site) {
    let start = site
        .start()
        .set("FLUSH__AGE_MAX", "100ms")
        .set("BUFFER__BYTES_MAX", "1MiB")
        .set("JOURNAL__QUEUE_BYTES_MAX", "64KiB")
        .set("JOURNAL__SEGMENT_BYTES", "64KiB");
    watch(site, &start).await;
}

/// One hour of so many readings that its document has parts, while it grows.
pub(super) async fn queries_tell_what_was_acknowledged_of_an_hour_in_many_parts(site: &Site) {
    const ROWS: u32 = 10_800;
    // Three a second; all texts are of one length, so they sort as they follow.
    let at = |number: u32| {
        let (second, tenth) = (number / 3, number % 3 + 1);
        let (minute, second) = (second / 60, second % 60);
        format!("2026-05-01T10:{minute:02}:{second:02}.{tenth}Z")
    };
    let row = |number| Row {
        at: at(number),
        temp: f64::from(number % 997 + 1),
    };
    let mut rows: Vec<Row> = (0..ROWS).map(row).collect();
    rows.shuffle(&mut seeded());
    let start = site
        .start()
        .set("FLUSH__AGE_MAX", "100ms")
        .set("FLUSH__READINGS_MAX", "300")
        .set("STORE__PART_BYTES_MAX", "64KiB");
    let server = start.start();
    let sending = Sending::of(&rows);
    let complete = send_and_watch(&server, &sending).await;
    assert!(complete > 0, "no answer was complete");
    let ledger = ledger::at_rest(&server).await;
    assert_eq!(ledger.values_stored, u64::from(ROWS));

    let server = site.restart_from_the_store(server, &start);
    let answer = table::hourly(&server).await;
    assert_eq!(answer.hours.len(), 1);
    answer.hours[0].assert_is(&hours_of(&rows)["2026-05-01T10:00:00Z"]);
    assert_eq!(table::readings(&server).await.0.len(), rows.len());
}
