//! C20: where a body is cut in two on its way changes nothing.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use super::builders::{TEN, gzip, readings, started};
use crate::support::hourglass::Hourglass;

/// A connection that is kept from one request to the next.
pub(super) struct Kept(BufReader<TcpStream>);

impl Kept {
    pub(super) fn to(hourglass: &Hourglass) -> Self {
        let stream = TcpStream::connect(hourglass.address()).unwrap();
        stream.set_nodelay(true).unwrap();
        let patience = Some(Duration::from_secs(60));
        stream.set_read_timeout(patience).unwrap();
        Self(BufReader::new(stream))
    }

    /// Sends `head` (without its last blank line) and `pieces`, each as a chunk
    /// of HTTP: the status, the head and the body of the answer.
    pub(super) fn send(&mut self, head: &str, pieces: &[&[u8]]) -> (u16, String, String) {
        let stream = self.0.get_mut();
        let head = format!("{head}transfer-encoding: chunked\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
            let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
            chunk.extend_from_slice(piece);
            chunk.extend_from_slice(b"\r\n");
            stream.write_all(&chunk).unwrap();
        }
        stream.write_all(b"0\r\n\r\n").unwrap();
        self.answer()
    }

    fn answer(&mut self) -> (u16, String, String) {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            let read = self.0.read_line(&mut head).unwrap();
            assert!(read > 0, "the connection ended: {head}");
        }
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            (name == "content-length").then(|| value.parse().unwrap())
        });
        let mut body = vec![0; length.unwrap_or(0)];
        self.0.read_exact(&mut body).unwrap();
        (status, head, String::from_utf8(body).unwrap())
    }
}

/// Lines of every kind: escapes, text over two lines, CRLF, a remark, and
/// faults of which some only show behind the cut.
fn lines(sensor: &str) -> String {
    let lines = [
        format!("m\\,x,sensor={sensor},a\\ b=é temp=1.25,n=5i,on=t,text=\"a\nb \\\" c\" {TEN}\r\n"),
        format!("m,sensor={sensor} temp=NaN {TEN}\n"),
        "# a remark, temp=1\n".to_owned(),
        format!("m,sensor={sensor} temp= {TEN}\n\n"),
        format!("m,sensor={sensor} 🌡=-2.5e-1 {}\n", TEN + 1),
        format!("m,sensor={sensor} temp=3 1\n"),
        format!("m,sensor={sensor} temp=4 {}", TEN + 2),
    ];
    lines.concat()
}

/// Every cut goes to a sensor of its own; all names are equally long.
fn sensor(cut: usize) -> String {
    format!("cut{cut:04}")
}

#[tokio::test]
async fn c20_a_body_in_two_chunks_cut_at_any_byte_gives_the_same() {
    let (_dir, hourglass) = started();
    for path in ["/write?precision=s", "/api/v2/write?precision=s"] {
        let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\n");
        let mut kept = Kept::to(&hourglass);
        let length = lines(&sensor(0)).len();
        let mut told = None;
        for cut in 0..=length {
            let body = lines(&sensor(cut)).into_bytes();
            let (first, second) = body.split_at(cut);
            let (status, _, message) = kept.send(&head, &[first, second]);
            assert_eq!(status, 400, "{message}");
            let same = told.get_or_insert_with(|| message.clone());
            assert_eq!(&message, same, "cut at {cut}");
        }
        let told = told.unwrap();
        assert!(told.contains("3 of 6 lines were refused"), "{told}");
        assert!(told.contains("line 3, temp (not_finite)"), "{told}");
        assert!(told.contains("line 5, temp (invalid_line)"), "{told}");
        assert!(told.contains("line 8, timestamp (too_old)"), "{told}");
        for cut in 0..=length {
            assert_eq!(
                readings(&hourglass, &sensor(cut)).await,
                [
                    json!({ "ts": "2026-05-01T10:00:00Z", "measures": { "temp": 1.25, "n": 5.0, "on": 1.0 } }),
                    json!({ "ts": "2026-05-01T10:00:01Z", "measures": { "🌡": -0.25 } }),
                    json!({ "ts": "2026-05-01T10:00:02Z", "measures": { "temp": 4.0 } }),
                ],
                "cut at {cut}"
            );
        }
    }
}

#[tokio::test]
async fn c20_a_gzip_body_cut_at_any_byte_gives_the_same() {
    let (_dir, hourglass) = started();
    let head = "POST /write?precision=s HTTP/1.1\r\nhost: x\r\ncontent-encoding: gzip\r\n";
    let mut kept = Kept::to(&hourglass);
    let mut cut = 0;
    let mut told = None;
    loop {
        let body = gzip(&lines(&sensor(cut))).await;
        if cut > body.len() {
            break;
        }
        let (first, second) = body.split_at(cut);
        let (status, _, message) = kept.send(head, &[first, second]);
        assert_eq!(status, 400, "{message}");
        let same = told.get_or_insert_with(|| message.clone());
        assert_eq!(&message, same, "cut at {cut}");
        assert_eq!(readings(&hourglass, &sensor(cut)).await.len(), 3);
        cut += 1;
    }
    assert!(cut > 100, "the body had {cut} bytes");
}
