//! Sockets, bound and with the buffers they need.

use std::io;
use std::net::SocketAddr;

use ipnet::IpNet;
use nix::sys::socket::{setsockopt, sockopt::RcvBufForce};
use socket2::{Domain, Protocol, Socket, Type};

/// How datagrams are received.
#[derive(Debug, Clone)]
pub struct UdpOptions {
    /// Where; port 0 takes any free one.
    pub address: SocketAddr,
    /// Sockets on the address, each with a thread.
    pub workers: usize,
    /// Bytes that the kernel should keep for each.
    pub receive_buffer: usize,
    /// Networks whose datagrams are taken; empty for all.
    pub allow: Vec<IpNet>,
}

/// Bound sockets that nobody reads yet: the kernel keeps what comes.
#[derive(Debug)]
pub struct UdpListener {
    pub(super) sockets: Vec<Socket>,
    pub(super) allow: Vec<IpNet>,
    address: SocketAddr,
    receive_buffer: usize,
}

impl UdpListener {
    /// Binds the sockets. A warning is logged where the kernel keeps less for
    /// them than was asked for.
    ///
    /// # Errors
    /// Where the system refuses the address.
    pub fn bind(options: UdpOptions) -> io::Result<Self> {
        let first = open(options.address)?;
        // Only from here on: an address that another process has is refused even
        // where that one shares it among its own sockets.
        first.set_reuse_port(options.workers > 1)?;
        let address = bound(&first)?;
        let mut sockets = vec![first];
        for _ in 1..options.workers {
            let socket = new(address)?;
            socket.set_reuse_port(true)?;
            socket.bind(&address.into())?;
            sockets.push(socket);
        }
        let mut granted = usize::MAX;
        for socket in &sockets {
            granted = granted.min(grow(socket, options.receive_buffer)?);
        }
        if let Some(advice) = shortfall(options.receive_buffer, granted) {
            tracing::warn!(
                asked = options.receive_buffer,
                granted,
                "the kernel keeps less for a UDP socket than udp.receive_buffer: {advice}"
            );
        }
        Ok(Self {
            sockets,
            allow: options.allow,
            address,
            receive_buffer: granted,
        })
    }

    /// The address, with the port that was taken.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Bytes that the kernel keeps for each socket.
    #[must_use]
    pub fn receive_buffer(&self) -> usize {
        self.receive_buffer
    }
}

fn new(address: SocketAddr) -> io::Result<Socket> {
    Socket::new(
        Domain::for_address(address),
        Type::DGRAM,
        Some(Protocol::UDP),
    )
}

fn open(address: SocketAddr) -> io::Result<Socket> {
    let socket = new(address)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

fn bound(socket: &Socket) -> io::Result<SocketAddr> {
    let address = socket.local_addr()?;
    address
        .as_socket()
        .ok_or_else(|| io::Error::other("a UDP socket has an address that is none of IP"))
}

/// Asks for a receive buffer of `bytes`: what the kernel grants. It counts its own
/// book-keeping too and doubles what is asked for; the half is what compares.
fn grow(socket: &Socket, bytes: usize) -> io::Result<usize> {
    // Only who may administer the network is let beyond net.core.rmem_max.
    if setsockopt(socket, RcvBufForce, &bytes).is_err() {
        socket.set_recv_buffer_size(bytes)?;
    }
    Ok(socket.recv_buffer_size()? / 2)
}

/// What to do where the kernel granted less than was asked for.
fn shortfall(asked: usize, granted: usize) -> Option<String> {
    (granted < asked).then(|| {
        format!(
            "bursts are lost early; set sysctl net.core.rmem_max={asked} and restart, or lower \
             udp.receive_buffer"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(address: SocketAddr, workers: usize) -> UdpOptions {
        UdpOptions {
            address,
            workers,
            receive_buffer: 64 << 10,
            allow: Vec::new(),
        }
    }

    #[test]
    fn sockets_share_one_port_that_no_other_listener_gets() {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let listener = UdpListener::bind(options(any, 3)).unwrap();
        let taken = listener.address();
        assert_ne!(taken.port(), 0);
        for socket in &listener.sockets {
            assert_eq!(bound(socket).unwrap(), taken);
        }
        for workers in [1, 2] {
            let refused = UdpListener::bind(options(taken, workers)).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::AddrInUse);
        }
    }

    #[test]
    fn what_is_granted_compares_with_what_was_asked_for() {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let listener = UdpListener::bind(options(any, 1)).unwrap();
        assert_eq!(listener.receive_buffer(), 64 << 10);
    }

    #[test]
    fn a_shortfall_names_the_setting_of_the_system_and_its_value() {
        assert_eq!(shortfall(100, 100), None);
        let advice = shortfall(8 << 20, 212_992).unwrap();
        assert!(advice.contains("net.core.rmem_max=8388608"), "{advice}");
    }
}
