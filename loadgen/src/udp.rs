//! Sends datagrams. Nobody acknowledges them.

use std::io;
use std::net::SocketAddr;
use std::time::Instant;

use tokio::net::{UdpSocket, lookup_host};

use crate::post::Encoded;
use crate::tally::SharedTally;
use crate::ticker::{Schedule, Ticker};

/// Sockets could not be had.
#[derive(Debug, thiserror::Error)]
#[error("no datagrams can be sent to {address}: {source}; write --udp HOST:PORT")]
pub struct UdpError {
    address: String,
    source: io::Error,
}

/// Sockets that send to one address.
#[derive(Debug)]
pub struct Senders {
    sockets: Vec<UdpSocket>,
}

impl Senders {
    /// So many sockets (at least 1), each with a port of its own: a receiver with
    /// several sockets tells senders apart by their ports.
    ///
    /// # Errors
    /// The address is none, or the system has no socket for it.
    pub async fn open(address: &str, count: usize) -> Result<Self, UdpError> {
        let open = async {
            let found = lookup_host(address).await?.next();
            let to = found.ok_or_else(|| io::Error::other("the name has no address"))?;
            let mut sockets = Vec::with_capacity(count);
            for _ in 0..count {
                sockets.push(connected(to).await?);
            }
            Ok(Self { sockets })
        };
        open.await.map_err(|source| UdpError {
            address: address.to_owned(),
            source,
        })
    }

    /// Sends batches of datagrams until the deadline, over each socket in turn; at
    /// `rate` readings a second where there is one, else as fast as the system takes
    /// them.
    pub async fn send(
        &self,
        batches: &[Vec<Encoded>],
        rate: Option<f64>,
        deadline: Instant,
        tally: &SharedTally,
    ) -> Sent {
        let begun = Instant::now();
        let mut ticker = rate.map(|rate| {
            let readings = batches.iter().flatten().map(|datagram| datagram.readings);
            Ticker::start(Schedule::new(readings, rate), begun, deadline)
        });
        let mut sockets = self.sockets.iter().cycle();
        let mut done = Sent::default();
        'all: for batch in batches {
            for datagram in batch {
                let is_time = match &mut ticker {
                    Some(ticker) => ticker.next().await.is_some(),
                    None => Instant::now() < deadline,
                };
                let Some(socket) = sockets.next().filter(|_| is_time) else {
                    break 'all;
                };
                done.begun = done.whole + 1;
                let sent = send(socket, datagram, tally).await;
                tally.with(|tally| match sent {
                    Ok(_) => {
                        tally.datagrams_sent += 1;
                        tally.readings_sent += datagram.readings;
                    }
                    Err(error) => tally.problem(format!("a datagram could not be sent: {error}")),
                });
            }
            done.whole += 1;
        }
        if let Some(ticker) = ticker {
            ticker.join().await;
        }
        done
    }
}

/// How far sending came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sent {
    /// Batches of which something was sent: the first so many.
    pub begun: usize,
    /// Batches of which all was sent or could not be: the first so many.
    pub whole: usize,
}

async fn connected(to: SocketAddr) -> io::Result<UdpSocket> {
    let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(any).await?;
    socket.connect(to).await?;
    Ok(socket)
}

async fn send(socket: &UdpSocket, datagram: &Encoded, tally: &SharedTally) -> io::Result<usize> {
    match socket.send(&datagram.body).await {
        // The answer to an earlier datagram, in place of sending this one; the
        // system tells it once.
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            let text = "nobody takes datagrams there: one was refused".to_owned();
            tally.with(|tally| tally.problem(text));
            socket.send(&datagram.body).await
        }
        sent => sent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datagram::datagrams;
    use crate::fleet::Reading;
    use crate::fleet::tests::small;
    use std::time::Duration;

    #[tokio::test]
    async fn what_is_sent_arrives_as_it_was_cut() {
        for rate in [None, Some(1e6)] {
            let receiver = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            let address = receiver.local_addr().unwrap().to_string();
            let senders = Senders::open(&address, 1).await.unwrap();
            let readings: Vec<Reading> = (0..40).map(|place| small().reading(place)).collect();
            let batches: Vec<Vec<Encoded>> = readings
                .chunks(10)
                .map(|batch| datagrams(&small(), batch, 200))
                .collect();
            let tally = SharedTally::default();
            let deadline = Instant::now() + Duration::from_secs(60);
            let sent = senders.send(&batches, rate, deadline, &tally).await;
            assert_eq!(sent, Sent { begun: 4, whole: 4 });
            let count = batches.iter().flatten().count() as u64;
            let tally = tally.take();
            assert_eq!((tally.datagrams_sent, tally.readings_sent), (count, 40));
            let mut buffer = vec![0; 1000];
            for datagram in batches.iter().flatten() {
                let length = receiver.recv(&mut buffer).await.unwrap();
                assert_eq!(buffer[..length], datagram.body);
            }
        }
    }

    #[tokio::test]
    async fn after_the_deadline_nothing_is_sent() {
        let senders = Senders::open("127.0.0.1:9", 1).await.unwrap();
        let batch = vec![datagrams(&small(), &[small().reading(0)], 1000)];
        let tally = SharedTally::default();
        for rate in [None, Some(1.0)] {
            let sent = senders.send(&batch, rate, Instant::now(), &tally).await;
            assert_eq!(sent, Sent::default());
        }
        assert_eq!(tally.take().datagrams_sent, 0);
    }

    #[tokio::test]
    async fn an_address_that_is_none_is_said() {
        let refused = Senders::open("nowhere", 1).await.unwrap_err().to_string();
        assert!(refused.starts_with("no datagrams can be sent to nowhere"));
    }
}
