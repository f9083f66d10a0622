//! A log that cannot be written costs its lines and nothing else: neither the
//! process nor a clean stop.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, ExitStatus};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::support::eventually::eventually;
use crate::support::hourglass::Start;

#[tokio::test]
async fn a_reader_of_the_log_that_goes_takes_nothing_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = Start::on(dir.path()).command().spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
    let address = log.find_map(|line| {
        let line = line.unwrap();
        let (_, rest) = line.split_once("listening on http://")?;
        rest.split('"').next().map(str::to_owned)
    });
    drop(log);
    takes_readings(&address.unwrap()).await;
    assert!(stopped(child).success());
}

#[tokio::test]
async fn a_log_on_a_full_disk_keeps_it_neither_from_starting_nor_from_stopping() {
    let dir = tempfile::tempdir().unwrap();
    let address = {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap().to_string()
    };
    let mut command = Start::on(dir.path()).listen(&address).command();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let child = command.stderr(full).spawn().unwrap();
    takes_readings(&address).await;
    assert!(stopped(child).success());
}

async fn takes_readings(address: &str) {
    let http = reqwest::Client::new();
    let reading = json!([{ "sensorId": "S1", "temp": 1 }]);
    eventually("it takes readings", async || {
        let post = http.post(format!("http://{address}/v1/readings"));
        let answer = post.json(&reading).send().await.ok()?;
        (answer.status() == 202).then_some(())
    })
    .await;
}

fn stopped(mut child: Child) -> ExitStatus {
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    child.wait().unwrap()
}
