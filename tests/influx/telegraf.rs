//! Telegraf's requests, byte for byte as its outputs `influxdb` and
//! `influxdb_v2` make them with Go's HTTP client. Telegraf itself is in no
//! registry of packages, so it is imitated here: paths, order of parameters,
//! headers, chunks and gzip are those of its sources (version 1.38).

use serde_json::json;

use super::builders::{gzip, started, values};
use super::cuts::Kept;

/// What its inputs gather on one machine, text among it.
const METRICS: &str = "\
cpu,cpu=cpu0,host=edge1 usage_idle=97.5,usage_user=1.25 1777629600000000000
cpu,cpu=cpu-total,host=edge1 usage_idle=98,usage_user=1 1777629600000000000
mem,host=edge1 available=9007199254740992i,used_percent=41.5 1777629600000000000
disk,device=sda1,fstype=ext4,host=edge1,path=/var/lib/my\\ data used=5u,ro=false 1777629600000000000
system,host=edge1 load1=0.5,n_cpus=2i 1777629600000000000
system,host=edge1 uptime=3661i 1777629600000000000
system,host=edge1 uptime_format=\" 1:01\" 1777629600000000000
mqtt_consumer,host=edge1,sensor=boiler-7,topic=plant/1 temp=71.25,ok=true 1777629600000000000
";

fn v2(gzip: bool) -> String {
    let encoding = if gzip {
        "Content-Encoding: gzip\r\n"
    } else {
        ""
    };
    format!(
        "POST /api/v2/write?bucket=telegraf&org=acme HTTP/1.1\r\n\
         Host: 127.0.0.1:8080\r\n\
         User-Agent: Telegraf/1.38.0 Go/1.25.6\r\n\
         Authorization: Token \r\n\
         {encoding}\
         Content-Type: text/plain; charset=utf-8\r\n\
         Accept-Encoding: gzip\r\n"
    )
}

fn v1(query: &str) -> String {
    format!(
        "POST /write?{query} HTTP/1.1\r\n\
         Host: 127.0.0.1:8080\r\n\
         User-Agent: Telegraf/1.38.0 Go/1.25.6\r\n\
         Authorization: Basic dGVsZWdyYWY6bWV0cmljc21ldHJpY3M=\r\n\
         Content-Encoding: gzip\r\n\
         Content-Type: text/plain; charset=utf-8\r\n\
         Accept-Encoding: gzip\r\n"
    )
}

#[tokio::test]
async fn what_telegraf_writes_is_read_back_by_either_output() {
    for output in ["v2", "v2 plain", "v1", "v1 precision"] {
        let (_dir, hourglass) = started();
        let mut kept = Kept::to(&hourglass);
        if output.starts_with("v1") {
            let head = "POST /query HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\
                        User-Agent: Telegraf/1.38.0 Go/1.25.6\r\n\
                        Content-Type: application/x-www-form-urlencoded\r\n\
                        Accept-Encoding: gzip\r\n";
            let form = b"q=CREATE+DATABASE+%22telegraf%22";
            let (status, _, body) = kept.send(head, &[form]);
            assert_eq!(
                (status, body.as_str()),
                (200, r#"{"results":[{"statement_id":0}]}"#)
            );
        }
        let packed = gzip(METRICS).await;
        let (head, body) = match output {
            "v2" => (v2(true), packed.as_slice()),
            "v2 plain" => (v2(false), METRICS.as_bytes()),
            "v1" => (v1("consistency=any&db=telegraf"), packed.as_slice()),
            _ => (
                v1("consistency=any&db=telegraf&precision=ns"),
                packed.as_slice(),
            ),
        };
        // Once more is what it does after an answer that was lost.
        for _ in 0..2 {
            let (status, head, text) = kept.send(&head, &[body]);
            assert_eq!((status, text.as_str()), (204, ""), "{output}: {head}");
        }
        for (sensor, measures) in [
            (
                "cpu,cpu=cpu0,host=edge1",
                json!({"usage_idle": 97.5, "usage_user": 1.25}),
            ),
            (
                "cpu,cpu=cpu-total,host=edge1",
                json!({"usage_idle": 98.0, "usage_user": 1.0}),
            ),
            (
                "mem,host=edge1",
                json!({"available": 9_007_199_254_740_992.0, "used_percent": 41.5}),
            ),
            // `device` is one of the tags that name a sensor by default.
            ("sda1", json!({"used": 5.0, "ro": 0.0})),
            (
                "system,host=edge1",
                json!({"load1": 0.5, "n_cpus": 2.0, "uptime": 3661.0}),
            ),
            ("boiler-7", json!({"temp": 71.25, "ok": 1.0})),
        ] {
            assert_eq!(
                values(&hourglass, sensor).await,
                [measures],
                "{output} {sensor}"
            );
        }
        assert_eq!(hourglass.metric("hourglass_sensors").await, 6.0);
        assert_eq!(
            hourglass.metric("hourglass_values_duplicate_total").await,
            13.0
        );
    }
}

/// It drops the batch after a 400, and its log shows the message.
#[tokio::test]
async fn one_bad_line_of_a_batch_costs_that_line_alone() {
    let (_dir, hourglass) = started();
    let mut kept = Kept::to(&hourglass);
    let lines = format!("{METRICS}mem,host=edge1 used=NaN 1777629600000000000\n");
    let (status, _, body) = kept.send(&v2(false), &[lines.as_bytes()]);
    assert_eq!(status, 400);
    assert!(
        body.starts_with(r#"{"code":"invalid","message":"partial write: 1 of "#),
        "{body}"
    );
    assert!(body.contains("line 9, used (not_finite): "), "{body}");
    let (status, head, body) = kept.send(&v1("db=telegraf"), &[&gzip(&lines).await]);
    assert_eq!(status, 400);
    assert!(
        body.starts_with(r#"{"error":"partial write: 1 of "#),
        "{body}"
    );
    assert!(
        head.contains("x-influxdb-error: partial write: 1 of "),
        "{head}"
    );
    assert_eq!(values(&hourglass, "boiler-7").await.len(), 1);
}
