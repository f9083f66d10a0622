//! A TCP proxy that cuts, stalls, delays and swallows what it carries.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// What it does with bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carry {
    /// Passes them on.
    All,
    /// Passes them on after a while.
    Slowly(Duration),
    /// Passes on what clients say; what the server says is lost.
    NoReplies,
    /// Holds everything back until this changes.
    Nothing,
    /// Swallows everything, and says nothing of it. A connection that had something
    /// swallowed, or began in it, carries nothing ever after: what lies between has
    /// forgotten it.
    BlackHole,
}

/// The proxy; it ends when it is dropped.
pub(crate) struct CutProxy {
    carry: Arc<watch::Sender<Carry>>,
    /// Connections of an older number end.
    cuts: Arc<watch::Sender<u64>>,
    accepting: JoinHandle<()>,
}

impl CutProxy {
    /// A proxy at an address of its own in front of the one that `target` answers,
    /// where nothing need be yet.
    pub(crate) async fn start(target: impl FnOnce(SocketAddr) -> String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let target = target(address);
        let carry = Arc::new(watch::channel(Carry::All).0);
        let cuts = Arc::new(watch::channel(0).0);
        let accepting = tokio::spawn({
            let (carry, cuts) = (Arc::clone(&carry), Arc::clone(&cuts));
            async move {
                while let Ok((client, _)) = listener.accept().await {
                    if *carry.borrow() == Carry::BlackHole {
                        tokio::spawn(hold(client, cuts.subscribe()));
                        continue;
                    }
                    let Ok(server) = TcpStream::connect(&target).await else {
                        continue;
                    };
                    let (from_client, to_client) = client.into_split();
                    let (from_server, to_server) = server.into_split();
                    let (carry, cuts) = (carry.subscribe(), cuts.subscribe());
                    tokio::spawn(pass(
                        from_client,
                        to_server,
                        false,
                        carry.clone(),
                        cuts.clone(),
                    ));
                    tokio::spawn(pass(from_server, to_client, true, carry, cuts));
                }
            }
        });
        Self {
            carry,
            cuts,
            accepting,
        }
    }

    /// From now on bytes are carried so.
    pub(crate) fn carry(&self, carry: Carry) {
        self.carry.send_replace(carry);
    }

    /// Ends all connections there are.
    pub(crate) fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }
}

impl Drop for CutProxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.cut();
    }
}

/// Carries one direction until either side ends or it is cut.
async fn pass(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    is_reply: bool,
    mut carry: watch::Receiver<Carry>,
    mut cuts: watch::Receiver<u64>,
) {
    cuts.mark_unchanged();
    let carrying = async {
        let mut bytes = vec![0; 64 << 10];
        let mut is_forgotten = false;
        loop {
            let read = from.read(&mut bytes).await.unwrap_or(0);
            if read == 0 {
                return;
            }
            let how = carry.wait_for(|carry| *carry != Carry::Nothing).await;
            let Ok(how) = how.map(|how| *how) else {
                return;
            };
            if let Carry::Slowly(pause) = how {
                tokio::time::sleep(pause).await;
            }
            is_forgotten |= how == Carry::BlackHole;
            let is_lost = is_forgotten || (how == Carry::NoReplies && is_reply);
            if !is_lost && to.write_all(&bytes[..read]).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = carrying => {}
        _ = cuts.changed() => {}
    }
}

/// Keeps a connection that goes nowhere, until it is cut.
async fn hold(mut client: TcpStream, mut cuts: watch::Receiver<u64>) {
    cuts.mark_unchanged();
    let mut nowhere = tokio::io::sink();
    tokio::select! {
        _ = tokio::io::copy(&mut client, &mut nowhere) => {}
        _ = cuts.changed() => {}
    }
}
