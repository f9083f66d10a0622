//! A pass that is given up after any of its turns is finished by the next one.

use hourglass::model::Keep;

use super::builders::{HOUR, Process, batch, hours, keeping, key, now, run_turn, sensor};

const SENSORS: usize = 12;

/// Too many for one window each.
const HOURS: [i32; 4] = [HOUR - 1400, HOUR - 700, HOUR - 80, HOUR];

async fn fill(dir: &std::path::Path) {
    let process = Process::on(dir, &keeping(Keep::Forever, Keep::Forever), 1);
    for number in 0..SENSORS {
        process.apply(number as u64, &batch(&format!("S{number}"), HOURS));
    }
    process.flush().await;
}

/// Runs `turns` turns of a pass and gives it up with its process; whether it had
/// more to do.
async fn give_up(dir: &std::path::Path, turns: usize) -> bool {
    let process = Process::on(dir, &keeping(hours(1000), hours(48)), 2);
    let mut pass = process.pass(now());
    for _ in 0..turns {
        if !run_turn(&mut pass).await {
            return false;
        }
        assert_no_record_shows_what_is_gone(&process).await;
    }
    true
}

async fn assert_no_record_shows_what_is_gone(process: &Process) {
    for number in 0..SENSORS {
        let id = format!("S{number}");
        let record = process
            .store
            .sensors(&[sensor(&id)])
            .await
            .unwrap()
            .remove(0);
        for reading in record.recent.readings {
            let bucket = process.load(&key(&id, reading.at.hour().hours())).await;
            let bucket = bucket.expect("the bucket of a newest reading");
            assert!(!bucket.parts[0].raw_dropped);
        }
    }
}

#[tokio::test]
async fn a_pass_given_up_after_any_turn_is_finished_by_the_next_one() {
    let mut turns = 0;
    loop {
        let dir = tempfile::tempdir().unwrap();
        fill(dir.path()).await;
        let has_more = give_up(dir.path(), turns).await;
        let process = Process::on(dir.path(), &keeping(hours(1000), hours(48)), 3);
        process.sweep(now()).await;
        assert_no_record_shows_what_is_gone(&process).await;
        for number in 0..SENSORS {
            let id = format!("S{number}");
            let mut raw_dropped = Vec::new();
            for hour in HOURS {
                let bucket = process.load(&key(&id, hour)).await;
                raw_dropped.push(bucket.map(|bucket| bucket.parts[0].raw_dropped));
            }
            let expected = [None, Some(true), Some(true), Some(false)];
            assert_eq!(raw_dropped, expected, "{id} after {turns} turns");
        }
        if !has_more {
            break;
        }
        turns += 1;
    }
    assert!(turns > 6, "{turns}");
}
