//! What the kernel dropped, by its own count for each socket.
//!
//! The column `drops` of `/proc/net/udp` and `/proc/net/udp6` is exact at any
//! moment. The count that comes with datagrams (`SO_RXQ_OVFL`) misses what was
//! dropped since the last one that was read.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, PoisonError};

const TABLES: [&str; 2] = ["/proc/net/udp", "/proc/net/udp6"];

/// The sockets that are watched, and what was counted for them.
#[derive(Debug)]
pub(super) struct KernelDrops(Mutex<Counts>);

#[derive(Debug)]
struct Counts {
    /// The kernel's last count by inode: 32 bits, which wrap.
    last: HashMap<u64, u32>,
    total: u64,
}

impl KernelDrops {
    /// Watches `sockets`.
    pub(super) fn of<'a, S: AsFd + 'a>(
        sockets: impl IntoIterator<Item = &'a S>,
    ) -> io::Result<Self> {
        let mut last = HashMap::new();
        for socket in sockets {
            let socket = fs::File::from(socket.as_fd().try_clone_to_owned()?);
            last.insert(socket.metadata()?.ino(), 0);
        }
        let drops = Self(Mutex::new(Counts { last, total: 0 }));
        if drops.read().is_none() {
            tracing::warn!(
                "{} cannot be read: datagrams that the kernel drops are not counted",
                TABLES.join(" and ")
            );
        }
        Ok(drops)
    }

    /// Datagrams dropped so far. Sockets that are closed keep their last count.
    pub(super) fn total(&self) -> u64 {
        let tables = self.read();
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for table in tables.iter().flatten() {
            counts.add(table);
        }
        counts.total
    }

    fn read(&self) -> Option<Vec<String>> {
        let tables = TABLES.iter().map(fs::read_to_string);
        // A system without IPv6 has the first one only.
        let tables: Vec<String> = tables.filter_map(Result::ok).collect();
        (!tables.is_empty()).then_some(tables)
    }
}

impl Counts {
    fn add(&mut self, table: &str) {
        for line in table.lines().skip(1) {
            let Some((inode, drops)) = inode_and_drops(line) else {
                continue;
            };
            if let Some(last) = self.last.get_mut(&inode) {
                self.total += u64::from(drops.wrapping_sub(*last));
                *last = drops;
            }
        }
    }
}

/// Columns 10 and 13: `sl local remote st queues timer retransmits uid timeout
/// inode references pointer drops`.
fn inode_and_drops(line: &str) -> Option<(u64, u32)> {
    let mut columns = line.split_ascii_whitespace();
    let inode = columns.nth(9)?.parse().ok()?;
    // Older kernels write the 32 bits as signed.
    let drops = columns.nth(2)?.parse::<i64>().ok()?;
    Some((inode, drops as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops";

    fn table(rows: &[(u64, &str)]) -> String {
        let row = |(inode, drops): &(u64, &str)| {
            format!(
                "  345: 0100007F:1F9E 00000000:0000 07 00000000:00000300 00:00000000 00000000  1000        0 {inode} 2 0000000000000000 {drops}"
            )
        };
        let rows: Vec<_> = rows.iter().map(row).collect();
        format!("{HEAD}\n{}\n", rows.join("\n"))
    }

    #[test]
    fn only_our_sockets_are_counted_each_by_its_own_count() {
        let mut counts = Counts {
            last: HashMap::from([(7, 0), (9, 0)]),
            total: 0,
        };
        counts.add(&table(&[(7, "3"), (8, "100"), (9, "0")]));
        assert_eq!(counts.total, 3);
        counts.add(&table(&[(7, "5"), (8, "200"), (9, "10")]));
        assert_eq!(counts.total, 15);
        counts.add(&table(&[(8, "200")]));
        assert_eq!(counts.total, 15, "closed sockets keep theirs");
    }

    #[test]
    fn a_count_of_32_bits_wraps() {
        let mut counts = Counts {
            last: HashMap::from([(7, u32::MAX - 1)]),
            total: 50,
        };
        counts.add(&table(&[(7, "-1")]));
        assert_eq!(counts.total, 51, "signed, as older kernels write it");
        counts.add(&table(&[(7, "4")]));
        assert_eq!(counts.total, 56);
    }

    #[test]
    fn a_real_socket_is_found() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let drops = KernelDrops::of([&socket]).unwrap();
        assert_eq!(drops.total(), 0);
        let inode = *drops.0.lock().unwrap().last.keys().next().unwrap();
        let tables = drops.read().unwrap();
        let mut lines = tables.iter().flat_map(|table| table.lines());
        assert!(
            lines.any(|line| inode_and_drops(line).is_some_and(|(found, _)| found == inode)),
            "{tables:#?}"
        );
    }
}
