//! Every format, packed in every way, by its name or by a flag.

use std::io::Write;
use std::process::Stdio;

use serde_json::json;

use super::{expect_status, hourglass, import, readings, started, stdout, write};
use crate::support::machine_temperature::{CONFLICTS, READINGS, ROWS, SENSOR, file};

const CSV: &str = "sensor,ts,temp\nS1,2026-05-01T10:00:00Z,1.5\nS1,2026-05-01T10:00:01Z,2.5\n";
const TSV: &str = "sensor\tts\ttemp\nS1\t1777629600\t1.5\nS1\t1777629601\t2.5\n";
const NDJSON: &str = "{\"sensorId\":\"S1\",\"ts\":1777629600,\"temp\":1.5}\n\
                      {\"sensorId\":\"S1\",\"ts\":1777629601,\"temp\":2.5}";
const LINES: &str =
    "m,sensor=S1 temp=1.5 1777629600000000000\nm,sensor=S1 temp=2.5 1777629601000000000\n";

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn every_format_is_taken_plain_gzip_and_zstd() {
    let (dir, server) = started();
    let expected = json!([
        {"ts": "2026-05-01T10:00:00Z", "measures": {"temp": 1.5}},
        {"ts": "2026-05-01T10:00:01Z", "measures": {"temp": 2.5}},
    ]);
    for (extension, text) in [
        ("csv", CSV),
        ("tsv", TSV),
        ("ndjson", NDJSON),
        ("jsonl", NDJSON),
        ("lp", LINES),
    ] {
        let packed = [
            ("", text.as_bytes().to_vec()),
            (".gz", gzip(text)),
            (".zst", zstd::encode_all(text.as_bytes(), 1).unwrap()),
        ];
        for (end, bytes) in packed {
            // A sensor of its own for each, so that each is seen to arrive.
            let sensor = format!("{extension}{}", end.trim_start_matches('.'));
            let bytes = match end {
                "" => text.replace("S1", &sensor).into_bytes(),
                ".gz" => gzip(&text.replace("S1", &sensor)),
                _ => {
                    assert!(!bytes.is_empty());
                    zstd::encode_all(text.replace("S1", &sensor).as_bytes(), 1).unwrap()
                }
            };
            let name = format!("{sensor}.{extension}{end}");
            std::fs::write(dir.path().join(&name), bytes).unwrap();
            let output = import(&server, dir.path(), &[&name]);
            expect_status(&output, 0);
            assert!(
                stdout(&output).starts_with("accepted: 2\nrejected: 0\n"),
                "{name}"
            );
            assert_eq!(json!(readings(&server, &sensor).await), expected, "{name}");
        }
    }
}

#[tokio::test]
async fn standard_input_is_read_with_a_format() {
    let (_dir, server) = started();
    for (format, bytes) in [
        ("csv", CSV.as_bytes().to_vec()),
        ("ndjson", gzip(NDJSON)),
        ("line", zstd::encode_all(LINES.as_bytes(), 1).unwrap()),
    ] {
        let mut child = hourglass()
            .args(["import", "--to", &server.url(""), "--format", format, "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(&bytes).unwrap();
        let output = child.wait_with_output().unwrap();
        expect_status(&output, 0);
        assert!(stdout(&output).starts_with("accepted: 2\n"), "{format}");
    }
    assert_eq!(readings(&server, "S1").await.len(), 2);
}

#[tokio::test]
async fn the_columns_of_a_table_are_told_by_flags() {
    let (dir, server) = started();
    let table = "when;value;other\n2026-05-01 12:00:00;1,5;7\n2026-05-01 12:00:01;2.5;8\n";
    write(&dir.path().join("t.csv"), table);
    let arguments = [
        "--sensor-id",
        "M 1",
        "--ts",
        "when",
        "--column",
        "temp=value",
        "--column",
        "x=other",
        "--tz",
        "Europe/Berlin",
        "--delimiter",
        ";",
        "t.csv",
    ];
    expect_status(&import(&server, dir.path(), &arguments), 0);
    assert_eq!(
        json!(readings(&server, "M%201").await),
        json!([
            {"ts": "2026-05-01T10:00:00Z", "measures": {"x": 7.0}},
            {"ts": "2026-05-01T10:00:01Z", "measures": {"temp": 2.5, "x": 8.0}},
        ])
    );
    write(
        &dir.path().join("u.csv"),
        "at,age,v\n1777629600001,,1\n,60000,2\n",
    );
    let arguments = [
        "--sensor-id",
        "M2",
        "--ts",
        "at",
        "--age-ms",
        "age",
        "--column",
        "v=v",
        "--unit",
        "ms",
        "u.csv",
    ];
    expect_status(&import(&server, dir.path(), &arguments), 0);
    let stored = readings(&server, "M2").await;
    assert_eq!(stored[0]["ts"], "2026-05-01T10:00:00.001Z");
    assert_eq!(stored.len(), 2);
}

#[tokio::test]
async fn the_real_readings_come_in_whole_and_a_second_time_change_nothing() {
    let (dir, server) = started();
    write(&dir.path().join("m.csv"), &file());
    let arguments = [
        "--sensor-id",
        SENSOR,
        "--ts",
        "timestamp",
        "--column",
        "temp=value",
        "--chunk-bytes",
        "20KiB",
        "m.csv",
    ];
    let hourly = format!("/v1/sensors/{SENSOR}/hourly");
    let mut hours = None;
    for _ in 0..2 {
        let output = import(&server, dir.path(), &arguments);
        expect_status(&output, 0);
        assert_eq!(stdout(&output), format!("accepted: {ROWS}\nrejected: 0\n"));
        let (_, now) = server.get(&hourly).await;
        assert_eq!(hours.get_or_insert_with(|| now.clone()), &now);
        let (_, conflicts) = server.get("/v1/conflicts").await;
        let conflicts = conflicts["conflicts"].as_array().unwrap().len() as u64;
        assert_eq!(conflicts, CONFLICTS);
        // Nothing of the second run was new, and the server knew it by its keys.
        assert_eq!(
            server.metric("hourglass_items_accepted_total").await,
            ROWS as f64
        );
    }
    assert_eq!(readings(&server, SENSOR).await.len() as u64, READINGS);
    // In other chunks the keys are others, and the readings the same.
    let other = [&arguments[..6], &["m.csv"]].concat();
    expect_status(&import(&server, dir.path(), &other), 0);
    assert_eq!(server.get(&hourly).await.1, hours.unwrap());
}
