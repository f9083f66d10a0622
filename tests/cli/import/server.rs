//! What a server answers decides what is done next.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use super::{expect_status, hourglass, import, run, started, stderr, stdout, write};

/// Head and body of a request, to the end of both.
fn request(stream: &TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let mut text = String::new();
    while reader.read_line(&mut text).unwrap() > 2 {}
    let length = text.to_ascii_lowercase();
    let length = length.split("content-length: ").nth(1).unwrap();
    let length: usize = length.lines().next().unwrap().parse().unwrap();
    let mut to_client = stream;
    to_client
        .write_all(b"HTTP/1.1 100 Continue\r\n\r\n")
        .unwrap();
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    text + std::str::from_utf8(&body).unwrap()
}

/// A server that answers each request with the next of `answers` and closes;
/// its address, and afterwards the requests.
fn stub(answers: Vec<String>) -> (String, std::thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let requests = std::thread::spawn(move || {
        let answer = |answer: String| {
            let (mut stream, _) = listener.accept().unwrap();
            let request = request(&stream);
            stream.write_all(answer.as_bytes()).unwrap();
            request
        };
        answers.into_iter().map(answer).collect()
    });
    (address, requests)
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n{body}",
        body.len()
    )
}

const TAKEN: &str = r#"{"accepted":1,"rejected":0,"errors":[],"rejectedByCode":{}}"#;

fn key(request: &str) -> &str {
    let key = request.split("idempotency-key: ").nth(1).unwrap();
    key.lines().next().unwrap()
}

#[test]
fn what_may_pass_is_tried_again_with_the_same_key() {
    let dir = tempfile::tempdir().unwrap();
    write(&dir.path().join("a.lp"), "m x=1\n");
    let busy = r#"{"code":"busy","detail":"later"}"#;
    let (address, requests) = stub(vec![
        answer("503 Service Unavailable", "retry-after: 0\r\n", busy),
        // No answer, half of one, and one of a proxy.
        String::new(),
        answer("202 Accepted", "", TAKEN)[..60].to_owned(),
        answer("502 Bad Gateway", "", "<html>"),
        answer("429 Too Many Requests", "retry-after: 1\r\n", busy),
        answer("202 Accepted", "", TAKEN),
    ]);
    let mut command = hourglass();
    command
        .current_dir(dir.path())
        .args(["import", "--to", &address, "a.lp"]);
    let output = run(&mut command);
    expect_status(&output, 0);
    assert_eq!(stdout(&output), "accepted: 1\nrejected: 0\n");
    let said = stderr(&output);
    assert!(said.contains("503: later (busy); trying again"), "{said}");
    let requests = requests.join().unwrap();
    assert_eq!(requests.len(), 6);
    for request in &requests {
        assert!(
            request.starts_with("POST /v1/readings?format=line HTTP/1.1"),
            "{request}"
        );
        assert!(request.ends_with("\r\n\r\nm x=1\n"), "{request}");
        assert_eq!(key(request), key(&requests[0]));
    }
}

#[test]
fn what_does_not_pass_ends_the_import_at_once() {
    let dir = tempfile::tempdir().unwrap();
    write(&dir.path().join("a.lp"), "m x=1\n");
    let refusal = r#"{"code":"some_reason","detail":"not so"}"#;
    for status in [
        "400 Bad Request",
        "401 Unauthorized",
        "404 Not Found",
        "500 Oh",
    ] {
        let (address, requests) = stub(vec![answer(status, "", refusal)]);
        let mut command = hourglass();
        command
            .current_dir(dir.path())
            .args(["import", "--to", &address, "a.lp"]);
        let output = run(&mut command);
        expect_status(&output, 1);
        let said = stderr(&output);
        assert!(said.contains("a.lp, from line 1 on"), "{said}");
        assert!(said.contains("not so (some_reason)"), "{said}");
        requests.join().unwrap();
    }
}

#[test]
fn a_server_that_is_not_there_is_given_up_in_time() {
    let dir = tempfile::tempdir().unwrap();
    write(&dir.path().join("a.lp"), "m x=1\n");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let mut command = hourglass();
    command
        .current_dir(dir.path())
        .args(["import", "--to", &address]);
    let output = run(command.args(["--retry-for", "100ms", "a.lp"]));
    expect_status(&output, 1);
    assert!(
        stderr(&output).contains("given up after"),
        "{}",
        stderr(&output)
    );
    assert_eq!(stdout(&output), "accepted: 0\nrejected: 0\n");
}

#[tokio::test]
async fn a_header_that_does_not_do_is_told_in_the_words_of_the_server() {
    let (dir, server) = started();
    write(&dir.path().join("a.csv"), "ts,temp\n1777629600,1\n");
    write(&dir.path().join("empty.csv"), "");
    write(&dir.path().join("header.csv"), "sensor,temp\n");
    for (arguments, part) in [
        (&["a.csv"][..], "add a column sensorId"),
        (
            &["--sensor-id", "S1", "--ts", "when", "a.csv"],
            "`when`, which the header does not have",
        ),
        (&["empty.csv"], "the body is empty"),
    ] {
        let output = import(&server, dir.path(), arguments);
        expect_status(&output, 1);
        assert!(stderr(&output).contains(part), "{}", stderr(&output));
    }
    expect_status(&import(&server, dir.path(), &["header.csv"]), 0);
}

#[tokio::test]
async fn a_packed_file_that_is_cut_off_is_a_failure_and_what_came_before_is_sent() {
    let (dir, server) = started();
    let lines: String = (0..200_000)
        .map(|n| format!("m,sensor=S1 x={n} {}\n", 1_700_000_000 + n))
        .collect();
    let packed = zstd::encode_all(lines.as_bytes(), 1).unwrap();
    std::fs::write(dir.path().join("a.lp.zst"), &packed[..packed.len() / 2]).unwrap();
    let output = import(&server, dir.path(), &["a.lp.zst"]);
    expect_status(&output, 1);
    assert!(
        stderr(&output).contains("a.lp.zst: "),
        "{}",
        stderr(&output)
    );
    assert!(
        !stdout(&output).starts_with("accepted: 0\n"),
        "{}",
        stdout(&output)
    );
}
