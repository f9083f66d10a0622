//! A running `hourglass serve`: the real binary, its own data directory, a
//! port of its own, and what it logs.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

/// How long a process may take to start or to stop before the test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// How to start one.
#[derive(Debug, Clone)]
pub(crate) struct Start {
    data_dir: PathBuf,
    listen: String,
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
}

impl Start {
    /// On `data_dir`, with the embedded store, on a free port.
    pub(crate) fn on(data_dir: &Path) -> Self {
        Self {
            data_dir: data_dir.to_owned(),
            listen: "127.0.0.1:0".to_owned(),
            arguments: Vec::new(),
            variables: Vec::new(),
        }
    }

    /// At `address`, where one was before.
    pub(crate) fn listen(mut self, address: &str) -> Self {
        address.clone_into(&mut self.listen);
        self
    }

    /// With the store at `url`.
    pub(crate) fn store(mut self, url: &str) -> Self {
        self.arguments.extend(["--store".into(), url.into()]);
        self
    }

    /// With setting `SECTION__KEY` (as after `HOURGLASS__`).
    pub(crate) fn set(mut self, key: &str, value: &str) -> Self {
        self.variables
            .push((format!("HOURGLASS__{key}"), value.into()));
        self
    }

    /// Taking datagrams on `address`; port 0 takes any free one.
    pub(crate) fn udp(mut self, address: &str) -> Self {
        self.arguments.extend(["--udp".into(), address.into()]);
        self
    }

    /// Has its store verified, which must find nothing; no process may have an
    /// embedded one open.
    pub(crate) fn verify(&self) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hourglass"));
        command.arg("verify").arg("--data-dir").arg(&self.data_dir);
        let output = command.args(&self.arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let complained = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}{complained}");
    }

    /// The command, not yet started, logging JSON to standard error.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hourglass"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("HOURGLASS") {
                command.env_remove(name);
            }
        }
        command
            .args(["serve", "--listen", &self.listen, "--data-dir"])
            .arg(&self.data_dir)
            .args(&self.arguments)
            .envs(self.variables.iter().cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        command
    }

    /// Starts it and waits until it listens.
    pub(crate) fn start(&self) -> Hourglass {
        let mut child = self.command().spawn().unwrap();
        let log = Arc::new(Mutex::new(Vec::new()));
        let (line_sender, lines) = channel();
        let stderr = child.stderr.take().unwrap();
        let kept = Arc::clone(&log);
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                kept.lock().unwrap().push(line.clone());
                // The test may be past waiting for lines.
                drop(line_sender.send(line));
            }
        });
        let Some(address) = listen_address(&lines) else {
            drop(child.kill());
            panic!("it did not start: {:#?}", log.lock().unwrap());
        };
        Hourglass {
            child,
            base: format!("http://{address}"),
            http: reqwest::Client::new(),
            log,
            lines,
        }
    }
}

/// One on a data directory of its own, with the embedded store.
pub(crate) fn alone() -> (tempfile::TempDir, Hourglass) {
    let dir = tempfile::tempdir().unwrap();
    let hourglass = Start::on(dir.path()).start();
    (dir, hourglass)
}

fn listen_address(lines: &Receiver<String>) -> Option<String> {
    let end = Instant::now() + PATIENCE;
    loop {
        let line = lines
            .recv_timeout(end.saturating_duration_since(Instant::now()))
            .ok()?;
        if let Some((_, rest)) = line.split_once("listening on http://") {
            let address = rest.split('"').next().unwrap_or(rest);
            return Some(address.trim().to_owned());
        }
    }
}

/// A running process; killed when dropped.
#[derive(Debug)]
pub(crate) struct Hourglass {
    child: Child,
    base: String,
    http: reqwest::Client,
    log: Arc<Mutex<Vec<String>>>,
    lines: Receiver<String>,
}

impl Hourglass {
    /// The URL of `path` (which begins with `/`).
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// `host:port`.
    pub(crate) fn address(&self) -> &str {
        self.base.trim_start_matches("http://")
    }

    /// Where it takes datagrams, by its log.
    pub(crate) fn udp(&self) -> SocketAddr {
        let log = self.log();
        let said = log
            .iter()
            .find_map(|line| line.split_once("taking datagrams on udp://"));
        let (_, rest) = said.expect("it takes no datagrams");
        rest.split('"').next().unwrap().parse().unwrap()
    }

    /// The HTTP client.
    pub(crate) fn http(&self) -> &reqwest::Client {
        &self.http
    }

    /// Process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Posts readings as JSON: status and answer.
    pub(crate) async fn post(&self, readings: &Value) -> (u16, Value) {
        self.post_as("application/json", readings.to_string()).await
    }

    /// Posts `body` as `content_type`: status and answer.
    pub(crate) async fn post_as(
        &self,
        content_type: &str,
        body: impl Into<reqwest::Body>,
    ) -> (u16, Value) {
        let request = self.http.post(self.url("/v1/readings"));
        let request = request.header("content-type", content_type).body(body);
        let response = match request.send().await {
            Ok(response) => response,
            Err(error) => panic!("{error:?}; its log: {:#?}", self.log()),
        };
        let status = response.status().as_u16();
        let text = response.text().await.unwrap();
        (status, serde_json::from_str(&text).unwrap_or(text.into()))
    }

    /// Gets `path`: status and answer (a string where it is not JSON).
    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        let response = self.http.get(self.url(path)).send().await.unwrap();
        let status = response.status().as_u16();
        let text = response.text().await.unwrap();
        (status, serde_json::from_str(&text).unwrap_or(text.into()))
    }

    /// Gets `path`: status and answer as they came.
    pub(crate) async fn get_text(&self, path: &str) -> (u16, String) {
        let response = self.http.get(self.url(path)).send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }

    /// One sample of `/metrics`, by its name with labels as printed.
    pub(crate) async fn metric(&self, sample: &str) -> f64 {
        let (_, page) = self.get("/metrics").await;
        let page = page.as_str().unwrap().to_owned();
        let line = page.lines().find_map(|line| {
            let (name, value) = line.rsplit_once(' ')?;
            (name == sample).then(|| value.parse::<f64>().unwrap())
        });
        line.unwrap_or_else(|| panic!("no sample {sample} in\n{page}"))
    }

    /// All samples of `/metrics`, by name with labels as printed.
    pub(crate) async fn samples(&self) -> BTreeMap<String, f64> {
        let (status, page) = self.get_text("/metrics").await;
        assert_eq!(status, 200);
        let lines = page.lines().filter(|line| !line.starts_with('#'));
        let samples = lines.filter_map(|line| line.rsplit_once(' '));
        samples
            .map(|(name, value)| (name.to_owned(), value.parse().unwrap()))
            .collect()
    }

    /// Stops all its threads where they are, as SIGSTOP does, until
    /// [`Hourglass::thaw`].
    pub(crate) fn freeze(&self) {
        self.signal("STOP");
        let end = Instant::now() + PATIENCE;
        // The signal returns before all threads have stopped.
        while !self.is_frozen() {
            assert!(Instant::now() < end, "it does not stop");
            std::thread::yield_now();
        }
    }

    fn is_frozen(&self) -> bool {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.pid())).unwrap();
        // proc_pid_stat(5): the state stands behind the name in parentheses.
        let is_stopped = |stat: String| {
            let state = stat.rsplit_once(") ");
            state.is_some_and(|(_, rest)| rest.starts_with('T'))
        };
        let mut stats = threads.filter_map(|thread| {
            // A thread may end meanwhile.
            std::fs::read_to_string(thread.ok()?.path().join("stat")).ok()
        });
        stats.all(is_stopped)
    }

    /// Lets a frozen process go on.
    pub(crate) fn thaw(&self) {
        self.signal("CONT");
    }

    /// Waits until a line logged since the last wait contains `part`, and
    /// returns it.
    pub(crate) fn wait_for_log(&self, part: &str) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) if line.contains(part) => return line,
                Ok(_) => {}
                Err(_) => panic!("never logged: {part}\n{:#?}", self.log()),
            }
        }
    }

    /// Everything logged so far.
    pub(crate) fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    /// Kills it as `kill -9` does, and waits for its end.
    pub(crate) fn kill_9(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends SIGTERM.
    pub(crate) fn signal_stop(&self) {
        self.signal("TERM");
    }

    fn signal(&self, signal: &str) {
        let kill = format!("kill -{signal} {}", self.child.id());
        let status = Command::new("sh").args(["-c", &kill]).status().unwrap();
        assert!(status.success());
    }

    /// Sends SIGTERM and waits for its end: the exit status and the log.
    pub(crate) fn stop(self) -> (ExitStatus, Vec<String>) {
        self.signal_stop();
        self.stopped()
    }

    /// Waits for the end that was signalled: the exit status and the log.
    pub(crate) fn stopped(mut self) -> (ExitStatus, Vec<String>) {
        let status = self.wait();
        // Standard error ends with the process; the reader drains it first.
        while self.lines.recv_timeout(PATIENCE).is_ok() {}
        (status, self.log())
    }

    /// Waits until it ended by itself.
    #[expect(
        clippy::disallowed_methods,
        reason = "std offers no wait for a child that ends in time"
    )]
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < end, "it does not end: {:#?}", self.log());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Hourglass {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
