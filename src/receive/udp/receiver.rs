//! The threads that drain the kernel.

use std::io::{self, IoSliceMut, PipeReader, PipeWriter};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ipnet::IpNet;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{MsgFlags, MultiHeaders, SockaddrStorage, recvmmsg};
use socket2::Socket;
use tokio_util::sync::CancellationToken;

use super::block::Gathering;
use super::kernel_drops::KernelDrops;
use super::{BlockQueue, UdpListener, give_way};
use crate::clock::Clock;
use crate::metrics::{Ledger, UdpDrop};

/// Datagrams in one system call.
const SLOTS: usize = 128;

/// Bytes of the slot of one datagram: more than the largest there is (65,527 over
/// IPv6). A plain 64 KiB would put the first bytes of all slots into the same few
/// lines of the processor's caches. Memory is taken as datagrams fill it.
const SLOT_BYTES: usize = (64 << 10) + 64;

/// Longest time that a stop goes on reading what the kernel still has.
const DRAIN_MAX: Duration = Duration::from_secs(1);

/// Pause after the system had no memory for the call.
const NO_MEMORY_PAUSE_MS: u16 = 100;

/// What is seen of the receivers from elsewhere; cheap to clone.
#[derive(Debug, Clone)]
pub struct UdpWatch {
    queue: Arc<BlockQueue>,
    drops: Arc<KernelDrops>,
    receive_buffer: usize,
}

impl UdpWatch {
    /// Datagrams that the kernel dropped: it had no room for them, or they were
    /// damaged. Reads `/proc`.
    #[must_use]
    pub fn kernel_dropped(&self) -> u64 {
        self.drops.total()
    }

    /// The queue.
    #[must_use]
    pub fn queue(&self) -> &BlockQueue {
        &self.queue
    }

    /// Bytes that the kernel keeps for each socket.
    #[must_use]
    pub fn receive_buffer(&self) -> usize {
        self.receive_buffer
    }
}

/// The running threads.
#[derive(Debug)]
pub struct UdpReceivers {
    watch: UdpWatch,
    stop: Arc<AtomicBool>,
    /// Dropping it wakes the threads.
    _wake: PipeWriter,
    /// One for each thread; cancelled at its end.
    ended: Vec<CancellationToken>,
}

impl UdpReceivers {
    /// Starts a thread for each socket of `listener`.
    ///
    /// # Errors
    /// Where the system has no means for it.
    pub fn start(
        listener: UdpListener,
        queue: Arc<BlockQueue>,
        ledger: Arc<Ledger>,
        clock: Arc<dyn Clock>,
    ) -> io::Result<Self> {
        let drops = Arc::new(KernelDrops::of(&listener.sockets)?);
        let (woken, wake) = io::pipe()?;
        let stop = Arc::new(AtomicBool::new(false));
        let mut ended = Vec::new();
        let allow: Arc<[IpNet]> = listener.allow.as_slice().into();
        let receive_buffer = listener.receive_buffer();
        for (number, socket) in listener.sockets.into_iter().enumerate() {
            let receiver = Receiver {
                socket,
                woken: woken.try_clone()?,
                stop: Arc::clone(&stop),
                allow: Arc::clone(&allow),
                queue: Arc::clone(&queue),
                ledger: Arc::clone(&ledger),
                clock: Arc::clone(&clock),
                gathering: Gathering::default(),
            };
            let end = CancellationToken::new();
            ended.push(end.clone());
            let end = end.drop_guard();
            std::thread::Builder::new()
                .name(format!("udp-{number}"))
                .spawn(move || {
                    give_way();
                    if let Err(error) = receiver.run() {
                        tracing::error!(%error, "datagrams cannot be received any more");
                    }
                    drop(end);
                })?;
        }
        Ok(Self {
            watch: UdpWatch {
                queue,
                drops,
                receive_buffer,
            },
            stop,
            _wake: wake,
            ended,
        })
    }

    /// What is seen of them from elsewhere.
    #[must_use]
    pub fn watch(&self) -> &UdpWatch {
        &self.watch
    }

    /// Resolves when one of the threads has ended.
    pub async fn one_ended(&self) {
        let ends = self.ended.iter().map(|end| Box::pin(end.cancelled()));
        futures_util::future::select_all(ends).await;
    }

    /// Ends the threads: each hands over what the kernel still has. Resolves when
    /// all have ended and the sockets are closed.
    pub async fn stop(mut self) {
        let ended = std::mem::take(&mut self.ended);
        drop(self);
        for end in &ended {
            end.cancelled().await;
        }
    }
}

impl Drop for UdpReceivers {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
    }
}

struct Receiver {
    socket: Socket,
    woken: PipeReader,
    stop: Arc<AtomicBool>,
    allow: Arc<[IpNet]>,
    queue: Arc<BlockQueue>,
    ledger: Arc<Ledger>,
    clock: Arc<dyn Clock>,
    gathering: Gathering,
}

/// The result of one message of a call.
struct Head {
    bytes: usize,
    source: Option<SocketAddr>,
    is_cut: bool,
}

impl Receiver {
    fn run(mut self) -> Result<(), Errno> {
        let mut memory = vec![0; SLOTS * SLOT_BYTES];
        let mut headers = MultiHeaders::preallocate(SLOTS, None);
        let mut heads = Vec::with_capacity(SLOTS);
        let mut drain_until = None;
        loop {
            heads.clear();
            let read = self.read(&mut headers, &mut memory, &mut heads);
            let is_stopping = self.stop.load(Ordering::Acquire);
            if is_stopping {
                drain_until.get_or_insert_with(|| Instant::now() + DRAIN_MAX);
            }
            match read {
                Ok(()) => {
                    self.gather(&memory, &heads);
                    if drain_until.is_some_and(|end| Instant::now() > end) {
                        self.hand_over();
                        return Ok(());
                    }
                }
                Err(Errno::EAGAIN) => {
                    self.hand_over();
                    if is_stopping {
                        return Ok(());
                    }
                    self.wait()?;
                }
                Err(Errno::EINTR) => {}
                Err(error @ (Errno::ENOMEM | Errno::ENOBUFS)) => {
                    tracing::warn!(%error, "datagrams cannot be read; trying again");
                    let mut woken = [PollFd::new(self.woken.as_fd(), PollFlags::POLLIN)];
                    poll(&mut woken, NO_MEMORY_PAUSE_MS)?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads what is there, without waiting.
    fn read(
        &self,
        headers: &mut MultiHeaders<SockaddrStorage>,
        memory: &mut [u8],
        heads: &mut Vec<Head>,
    ) -> Result<(), Errno> {
        let slots = memory.chunks_exact_mut(SLOT_BYTES);
        let mut slots: Vec<_> = slots.map(|slot| [IoSliceMut::new(slot)]).collect();
        let messages = recvmmsg(
            self.socket.as_raw_fd(),
            headers,
            &mut slots,
            MsgFlags::MSG_DONTWAIT,
            None,
        )?;
        heads.extend(messages.map(|message| Head {
            bytes: message.bytes,
            source: message.address.as_ref().and_then(socket_address),
            is_cut: message.flags.contains(MsgFlags::MSG_TRUNC),
        }));
        Ok(())
    }

    fn gather(&mut self, memory: &[u8], heads: &[Head]) {
        let now = self.clock.now();
        let bytes = heads.iter().map(|head| head.bytes as u64).sum();
        let udp = self.ledger.udp();
        udp.receive(heads.len() as u64, bytes);
        let (mut cut, mut strangers) = (0, 0);
        for (head, slot) in heads.iter().zip(memory.chunks_exact(SLOT_BYTES)) {
            match head.source {
                _ if head.is_cut => cut += 1,
                Some(source) if self.allows(source) => {
                    self.gathering.push(now, source, &slot[..head.bytes]);
                    if self.gathering.is_full() {
                        self.hand_over();
                    }
                }
                _ => strangers += 1,
            }
        }
        let udp = self.ledger.udp();
        udp.drop_datagrams(UdpDrop::Truncated, cut);
        udp.drop_datagrams(UdpDrop::SourceNotAllowed, strangers);
    }

    fn allows(&self, source: SocketAddr) -> bool {
        let allow = &self.allow;
        allow.is_empty() || allow.iter().any(|network| network.contains(&source.ip()))
    }

    fn hand_over(&mut self) {
        let Some(block) = self.gathering.take() else {
            return;
        };
        if let Err(block) = self.queue.push(block) {
            let dropped = block.len() as u64;
            self.ledger
                .udp()
                .drop_datagrams(UdpDrop::QueueFull, dropped);
        }
    }

    /// Waits until there is something to read, or the stop.
    fn wait(&self) -> Result<(), Errno> {
        let mut either = [
            PollFd::new(self.socket.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.woken.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut either, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// The source of a datagram; IPv4 in IPv6 clothes as IPv4.
fn socket_address(address: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = address.as_sockaddr_in();
    let v6 = address.as_sockaddr_in6();
    let (ip, port) = match (v4, v6) {
        (Some(v4), _) => (v4.ip().into(), v4.port()),
        (None, Some(v6)) => (std::net::IpAddr::from(v6.ip()), v6.port()),
        (None, None) => return None,
    };
    Some(SocketAddr::new(ip.to_canonical(), port))
}
