//! The cases of `tests/cases` again, under faults; each named after its row.

use serde_json::{Value, json};

use super::connections::behind_a_proxy;
use super::kills::busy;
use crate::machine_temperature::ledger::at_rest;
use crate::operation::builders::{count, hourly, post, readings, until, until_stored};
use crate::support::cut_proxy::Carry;
use crate::support::hourglass::{Hourglass, Start};
use crate::support::site::{Site, each_store};

const ROUNDS: u32 = 3;

fn reading(sensor: &str, second: u32, value: f64) -> Value {
    let ts = format!("2026-05-01T10:{:02}:{:02}Z", second / 60, second % 60);
    json!({ "sensorId": sensor, "ts": ts, "temp": value })
}

async fn accepted(server: &Hourglass, item: &Value) {
    let (status, answer) = server.post(item).await;
    assert_eq!(status, 202, "{answer}");
}

/// The values of a sensor, in order of time.
async fn values(server: &Hourglass, sensor: &str) -> Vec<f64> {
    let (status, page) = server.get(&format!("/v1/sensors/{sensor}/readings")).await;
    assert_eq!((status, &page["complete"]), (200, &json!(true)), "{page}");
    let readings = page["readings"].as_array().unwrap().iter();
    readings
        .map(|r| r["measures"]["temp"].as_f64().unwrap())
        .collect()
}

async fn until_complete(server: &Hourglass, sensor: &str) {
    until(|| async { hourly(server, sensor).await["complete"] == true }).await;
}

/// The same batch twice at once, with a kill at any time: neither readings nor
/// computed fields count it twice.
#[tokio::test]
async fn c01_a_batch_that_comes_twice_at_once_and_a_kill_count_once() {
    for site in each_store().await {
        let start = busy(site.start());
        for round in 0..ROUNDS {
            let server = start.start();
            let seconds = round * 100..round * 100 + 100;
            let batch = readings("S1", seconds);
            let (one, two) = tokio::join!(server.post(&batch), server.post(&batch));
            assert_eq!((one.0, two.0), (202, 202));
            if round == 1 {
                until_stored(&server).await;
            }
            server.kill_9();
        }
        let server = start.start();
        until_complete(&server, "S1").await;
        at_rest(&server).await;
        let answer = hourly(&server, "S1").await;
        let hour = &answer["hours"][0];
        let sum: f64 = (0..300).map(|s| f64::from(s) / 8.0).sum();
        assert_eq!(hour["count"], 300);
        assert_eq!(hour["measures"]["temp"]["count"], 300);
        assert_eq!(hour["measures"]["temp"]["sum"], sum);
        assert!(server.stop().0.success());
        start.verify();
    }
}

/// Another value of an instant, and of two at once the first of the journal: the
/// same one wins after a kill, with the refused ones counted and shown.
#[tokio::test]
async fn c03_c05_the_first_value_stays_the_same_through_kills() {
    for site in each_store().await {
        let start = busy(site.start());
        let server = start.start();
        for second in 0..50 {
            let (first, other) = (reading("S1", second, 1.0), reading("S1", second, 2.0));
            let (one, two) = tokio::join!(server.post(&first), server.post(&other));
            assert_eq!((one.0, two.0), (202, 202));
        }
        let won = values(&server, "S1").await;
        assert_eq!(won.len(), 50);
        server.kill_9();
        for _ in 0..ROUNDS {
            let server = start.start();
            until_complete(&server, "S1").await;
            assert_eq!(values(&server, "S1").await, won);
            server.kill_9();
        }
        let server = start.start();
        accepted(&server, &reading("S1", 0, 3.0)).await;
        at_rest(&server).await;
        assert_eq!(values(&server, "S1").await, won);
        let (_, shown) = server.get("/v1/conflicts").await;
        let shown = shown["conflicts"].as_array().unwrap();
        let is_shown = |c: &Value| c["refused"] == 3.0 && c["kept"] == won[0];
        assert!(shown.iter().any(is_shown), "{shown:?}");
        assert!(server.metric("hourglass_values_conflict_total").await >= 1.0);
        assert!(server.stop().0.success());
        start.verify();
    }
}

/// New keys of two processes at once while replies are lost: E11000 and lost
/// fences are never seen by those who send.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c07_new_keys_at_once_through_lost_replies_reach_nobody_as_errors() {
    let site = Site::embedded().await;
    let elsewhere = Site::embedded().await;
    let (mongod, proxy) = behind_a_proxy().await;
    let uri = mongod.uri_of("c07");
    let starts = [&site, &elsewhere].map(|site| busy(site.start()).store(&uri));
    let servers = starts.each_ref().map(Start::start);
    for round in 0..ROUNDS {
        proxy.carry(Carry::NoReplies);
        for sensor in 0..20 {
            let batch = readings(&format!("S{round}-{sensor}"), 0..30);
            let (one, two) = tokio::join!(servers[0].post(&batch), servers[1].post(&batch));
            assert_eq!((one.0, two.0), (202, 202), "{one:?} {two:?}");
        }
        until(|| async { servers[0].metric("hourglass_flushes_in_flight").await > 0.0 }).await;
        proxy.cut();
        proxy.carry(Carry::All);
    }
    for server in &servers {
        at_rest(server).await;
        for round in 0..ROUNDS {
            for sensor in 0..20 {
                assert_eq!(count(server, &format!("S{round}-{sensor}")).await, 30);
            }
        }
    }
    for server in servers {
        assert!(server.stop().0.success());
    }
    starts[0].verify();
}

/// What was answered 202 is in the next query while the store's connections are
/// cut, or the answer says that it may lack it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c14_what_was_answered_is_in_the_next_query_in_mid_fault_too() {
    let site = Site::embedded().await;
    let (mongod, proxy) = behind_a_proxy().await;
    let start = busy(site.start()).store(&mongod.uri_of("c14"));
    let server = start.start();
    let mut complete = 0;
    for second in 0..200 {
        accepted(&server, &reading("S1", second, 1.0)).await;
        let answer = hourly(&server, "S1").await;
        let told = answer["hours"][0]["count"].as_u64().unwrap_or(0);
        if answer["complete"] == true {
            complete += 1;
            assert_eq!(told, u64::from(second) + 1, "{answer}");
        }
        if second % 20 == 19 {
            proxy.cut();
        }
    }
    assert!(complete > 0);
    until_stored(&server).await;
    assert_eq!(count(&server, "S1").await, 200);
    assert!(server.stop().0.success());
    start.verify();
}

/// A reading without a time keeps the stamp of its receipt through a kill and a
/// replay, and a retry with its key stores nothing again.
#[tokio::test]
async fn c24_a_stamp_is_given_once_though_the_process_is_killed() {
    for site in each_store().await {
        let start = busy(site.start());
        let server = start.start();
        let send = async |server: &Hourglass| {
            let request = server.http().post(server.url("/v1/readings"));
            let request = request.header("content-type", "application/json");
            let request = request.header("idempotency-key", "once");
            let body = json!([{ "sensorId": "S1", "temp": 1.5 },
                              { "sensorId": "S1", "temp": 2.5, "ageMs": 4200 }]);
            let response = request.body(body.to_string()).send().await.unwrap();
            assert_eq!(response.status().as_u16(), 202);
        };
        let instants = async |server: &Hourglass| {
            let (_, page) = server.get("/v1/sensors/S1/readings").await;
            let readings = page["readings"].as_array().unwrap().iter();
            let at = readings.map(|r| r["ts"].as_str().unwrap().to_owned());
            (at.collect::<Vec<_>>(), page["complete"] == true)
        };
        send(&server).await;
        let (stamped, _) = instants(&server).await;
        assert_eq!(stamped.len(), 2);
        server.kill_9();
        for _ in 0..ROUNDS {
            let server = start.start();
            send(&server).await;
            until(|| async { instants(&server).await.1 }).await;
            assert_eq!(instants(&server).await.0, stamped);
            server.kill_9();
        }
        let server = start.start();
        at_rest(&server).await;
        assert_eq!(instants(&server).await.0, stamped);
        assert!(server.stop().0.success());
        start.verify();
    }
}

/// Late data for hours that were stored long ago, with kills between: computed
/// fields are those of all readings at once.
#[tokio::test]
async fn c25_computed_fields_follow_late_data_through_kills() {
    for site in each_store().await {
        let start = busy(site.start());
        for round in 0..ROUNDS {
            let server = start.start();
            until_complete(&server, "S1").await;
            assert_eq!(count(&server, "S1").await, u64::from(round) * 100);
            // Every third second, the later ones between those there.
            let batch: Value = (0..100)
                .map(|n| reading("S1", n * 3 + round, f64::from(n)))
                .collect();
            let (status, _) = server.post(&batch).await;
            assert_eq!(status, 202);
            let answer = hourly(&server, "S1").await;
            assert_eq!(answer["hours"][0]["count"], (round + 1) * 100);
            if round == 0 {
                until_stored(&server).await;
            }
            server.kill_9();
        }
        let server = start.start();
        post(&server, "other", 0..10).await;
        at_rest(&server).await;
        let answer = hourly(&server, "S1").await;
        let temp = &answer["hours"][0]["measures"]["temp"];
        let expected = json!({ "count": 300, "sum": 14850.0, "min": 0.0, "max": 99.0 });
        for field in ["count", "sum", "min", "max"] {
            assert_eq!(temp[field].as_f64(), expected[field].as_f64(), "{temp}");
        }
        assert!(server.stop().0.success());
        start.verify();
    }
}
