//! Posts rows in batches; every answer must be that all of a batch is taken.

use futures_util::{StreamExt, stream};
use serde_json::Value;

use crate::support::hourglass::Hourglass;
use crate::support::machine_temperature::{ROWS, Row, SENSOR, body, file};

/// Posts one batch.
pub(super) async fn batch(server: &Hourglass, rows: &[Row]) {
    let (status, answer) = server.post(&body(rows)).await;
    assert_eq!(status, 202, "{answer}");
    assert_all_taken(&answer, rows.len());
}

/// Posts the file as it is, as CSV in one body.
pub(super) async fn the_file(server: &Hourglass) {
    let url = format!("/v1/readings?format=csv&sensorId={SENSOR}&ts=timestamp&temp=value");
    let request = server.http().post(server.url(&url)).body(file());
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 202);
    assert_all_taken(&response.json().await.unwrap(), ROWS);
}

/// Checks what a 202 says of a batch of `rows`.
pub(super) fn assert_all_taken(answer: &Value, rows: usize) {
    assert_eq!(answer["accepted"], rows, "{answer}");
    assert_eq!(answer["rejected"], 0, "{answer}");
    assert_eq!(answer["errors"], Value::Array(Vec::new()), "{answer}");
}

/// Posts batches one after the other; the connection is kept.
pub(super) async fn in_order(server: &Hourglass, rows: &[Row], batch_rows: usize) {
    for rows in rows.chunks(batch_rows) {
        batch(server, rows).await;
    }
}

/// Posts batches over so many connections at once, in no certain order.
pub(super) async fn at_once(
    server: &Hourglass,
    rows: &[Row],
    batch_rows: usize,
    connections: usize,
) {
    stream::iter(rows.chunks(batch_rows))
        .for_each_concurrent(connections, |rows| batch(server, rows))
        .await;
}
