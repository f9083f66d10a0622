//! A proxy of TCP in front of a server of MongoDB that does to its connections
//! what networks do: cuts, stalls, delays, and answers that never come back.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

const CHUNK_BYTES: usize = 64 << 10;
/// Where the first key of a command stands in an OP_MSG: behind the header (16),
/// the flags (4), the kind of the section (1) and the document's length (4).
const COMMAND_AT: usize = 25;

/// What happens to bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// They pass.
    Pass,
    /// They wait until the mode is another one.
    Stall,
    /// Each piece waits for so long.
    Delay(Duration),
    /// New connections are closed at once, and those there are.
    Refuse,
}

struct Shared {
    server: SocketAddr,
    mode: watch::Sender<Mode>,
    /// Rises with every cut; a connection ends when it sees it rise.
    cuts: watch::Sender<u64>,
    /// Requests to write whose answers are still to be lost.
    replies_to_lose: AtomicUsize,
    replies_lost: watch::Sender<usize>,
}

/// A proxy that runs until it is dropped.
pub(crate) struct CutProxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: tokio::task::JoinHandle<()>,
}

impl CutProxy {
    /// In front of the server at `port` of this machine.
    pub(crate) async fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            server: SocketAddr::from(([127, 0, 0, 1], port)),
            mode: watch::channel(Mode::Pass).0,
            cuts: watch::channel(0).0,
            replies_to_lose: AtomicUsize::new(0),
            replies_lost: watch::channel(0).0,
        });
        let for_connections = Arc::clone(&shared);
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(serve(Arc::clone(&for_connections), client));
            }
        });
        Self {
            address,
            shared,
            accepting,
        }
    }

    /// Connection string through the proxy. Direct: a driver that discovers
    /// members goes around it.
    pub(crate) fn uri_of(&self, database: &str) -> String {
        format!(
            "mongodb://{}/{database}?directConnection=true",
            self.address
        )
    }

    /// From now on bytes are treated so.
    pub(crate) fn set(&self, mode: Mode) {
        self.shared.mode.send_replace(mode);
        if mode == Mode::Refuse {
            self.cut();
        }
    }

    /// Closes every connection there is.
    pub(crate) fn cut(&self) {
        self.shared.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// The next `count` commands `update` reach the server; their connections
    /// end when the answer would come back.
    pub(crate) fn lose_replies(&self, count: usize) {
        self.shared
            .replies_to_lose
            .fetch_add(count, Ordering::AcqRel);
    }

    /// Waits until so many answers were lost since the start; a minute at most.
    pub(crate) async fn has_lost(&self, count: usize) {
        let mut lost = self.shared.replies_lost.subscribe();
        let waiting = lost.wait_for(|lost| *lost >= count);
        let in_time = tokio::time::timeout(Duration::from_secs(60), waiting).await;
        let lost = self.replies_lost();
        assert!(in_time.is_ok(), "only {lost} of {count} answers were lost");
    }

    /// Answers lost since the start.
    pub(crate) fn replies_lost(&self) -> usize {
        *self.shared.replies_lost.borrow()
    }

    /// One fault of a random kind; it passes again afterwards.
    pub(crate) async fn disturb(&self, random: &mut StdRng) {
        let pause = Duration::from_millis(random.random_range(20..400));
        let kind = random.random_range(0..5);
        match kind {
            0 => self.cut(),
            1 => self.set(Mode::Stall),
            2 => self.set(Mode::Delay(pause / 4)),
            3 => self.set(Mode::Refuse),
            _ => self.lose_replies(random.random_range(1..4)),
        }
        // A fault of the network lasts, and ends by itself.
        tokio::time::sleep(pause).await;
        self.set(Mode::Pass);
    }
}

impl Drop for CutProxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.cut();
    }
}

async fn serve(shared: Arc<Shared>, client: TcpStream) {
    let mut cuts = shared.cuts.subscribe();
    cuts.mark_unchanged();
    if *shared.mode.borrow() == Mode::Refuse {
        return;
    }
    let Ok(server) = TcpStream::connect(shared.server).await else {
        return;
    };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    // Whether the answer that comes next is to be lost.
    let (doom, doomed) = watch::channel(false);
    // Either end that closes, or a cut, closes both.
    tokio::select! {
        () = requests(&shared, from_client, to_server, &doom) => {}
        () = replies(&shared, from_server, to_client, &doomed) => {}
        _ = cuts.changed() => {}
    }
}

/// Waits as the mode says.
async fn pass(shared: &Shared) {
    let mut mode = shared.mode.subscribe();
    let now = *mode.borrow_and_update();
    if let Mode::Delay(pause) = now {
        tokio::time::sleep(pause).await;
    }
    // The sender lives as long as `shared`.
    drop(mode.wait_for(|mode| *mode != Mode::Stall).await);
}

async fn requests(
    shared: &Shared,
    mut client: OwnedReadHalf,
    mut server: OwnedWriteHalf,
    doom: &watch::Sender<bool>,
) {
    let mut chunk = vec![0; CHUNK_BYTES];
    while let Ok(bytes @ 1..) = client.read(&mut chunk).await {
        let is_update = chunk[..bytes]
            .get(COMMAND_AT..)
            .is_some_and(|command| command.starts_with(b"\x02update\0"));
        let one_less = |left: usize| left.checked_sub(1);
        if is_update
            && shared
                .replies_to_lose
                .fetch_update(Ordering::AcqRel, Ordering::Acquire, one_less)
                .is_ok()
        {
            doom.send_replace(true);
        }
        pass(shared).await;
        if server.write_all(&chunk[..bytes]).await.is_err() {
            return;
        }
    }
}

async fn replies(
    shared: &Shared,
    mut server: OwnedReadHalf,
    mut client: OwnedWriteHalf,
    doomed: &watch::Receiver<bool>,
) {
    let mut chunk = vec![0; CHUNK_BYTES];
    while let Ok(bytes @ 1..) = server.read(&mut chunk).await {
        if *doomed.borrow() {
            shared.replies_lost.send_modify(|lost| *lost += 1);
            return;
        }
        pass(shared).await;
        if client.write_all(&chunk[..bytes]).await.is_err() {
            return;
        }
    }
}
