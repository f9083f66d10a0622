//! A disk in memory that loses what was not synced, and fails where it is told.
//!
//! A crash may keep any prefix of what a file got since its last sync, and any
//! of the names made or removed since the last sync of the names.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use hourglass::journal::disk::{Disk, DiskFile};

/// What a disk writes whole or not at all. Far smaller than a real one's 512
/// bytes, so that a small group has several.
const SECTOR_BYTES: usize = 16;

/// What the next call of a kind does instead of succeeding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// An append writes `kept` bytes of what it was given, then says
    /// `StorageFull`.
    NoRoom {
        /// Bytes that get through.
        kept: usize,
    },
    /// A sync fails, and the system forgets what it could not write: later syncs
    /// of the file succeed and make nothing of it durable (as on Linux, where a
    /// failed write-back marks its pages clean).
    SyncFails,
    /// An append fails with an input/output error, nothing written.
    AppendFails,
    /// A file cannot be created for want of room.
    CreateNoRoom,
    /// Names cannot be made durable.
    SyncNamesFails,
    /// A read fails with an input/output error.
    ReadFails,
}

#[derive(Debug, Default, Clone)]
struct Contents {
    bytes: Vec<u8>,
    synced: usize,
    /// Whether a sync failed: what is not synced never will be.
    is_doubtful: bool,
}

#[derive(Debug, Default)]
struct State {
    /// What processes see.
    files: BTreeMap<String, Contents>,
    /// Names that survive a crash.
    durable: BTreeMap<String, ()>,
    /// Files removed since the names were synced: a crash may bring them back.
    removed: BTreeMap<String, Contents>,
    faults: Vec<Fault>,
    syncs: u64,
    /// Sync calls that still succeed before everything fails ("power cut").
    syncs_left: Option<u64>,
    /// The same in calls that change the disk.
    steps_left: Option<u64>,
    is_off: bool,
    /// Reads that failed.
    read_failures: u64,
}

/// Syncs of files wait here while a test holds them.
#[derive(Debug, Default)]
struct Gate {
    /// Whether it is held, and how many wait.
    state: Mutex<(bool, usize)>,
    changed: Condvar,
}

/// The disk; clones are the same disk.
#[derive(Debug, Clone, Default)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
    gate: Arc<Gate>,
}

struct SimFile {
    name: String,
    disk: SimDisk,
}

impl SimDisk {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// The next call that the fault is about fails so, once.
    pub fn fail_next(&self, fault: Fault) {
        self.lock().faults.push(fault);
    }

    /// What was to fail does not any more.
    pub fn heal(&self) {
        self.lock().faults.clear();
    }

    /// `syncs` more syncs (of files or names) succeed; the next one fails, and
    /// every call that changes the disk after it: the moment of a power cut.
    pub fn power_cut_after(&self, syncs: u64) {
        self.lock().syncs_left = Some(syncs);
    }

    /// `steps` more calls that change the disk succeed, and none after them.
    pub fn power_cut_after_steps(&self, steps: u64) {
        self.lock().steps_left = Some(steps);
    }

    /// Whether the power is cut.
    pub fn is_off(&self) -> bool {
        self.lock().is_off
    }

    /// Reads that failed so far.
    pub fn read_failures(&self) -> u64 {
        self.lock().read_failures
    }

    /// Syncs (of files and names) that succeeded so far.
    pub fn syncs(&self) -> u64 {
        self.lock().syncs
    }

    /// From now on syncs of files wait.
    pub fn hold_syncs(&self) {
        self.gate.state.lock().unwrap().0 = true;
    }

    /// Whether a sync waits.
    pub fn holds_a_sync(&self) -> bool {
        let state = self.gate.state.lock().unwrap();
        state.0 && state.1 > 0
    }

    /// Held syncs go on.
    pub fn let_syncs_go(&self) {
        self.gate.state.lock().unwrap().0 = false;
        self.gate.changed.notify_all();
    }

    fn pass_gate(&self) {
        let mut state = self.gate.state.lock().unwrap();
        state.1 += 1;
        self.gate.changed.notify_all();
        let mut state = self.gate.changed.wait_while(state, |s| s.0).unwrap();
        state.1 -= 1;
    }

    /// What a machine finds after a power cut: of what was not synced, `choose`
    /// says how much is there: it gets a number of possibilities and answers
    /// one of them, from 0.
    pub fn after_power_cut(&self, choose: impl FnMut(usize) -> usize) -> SimDisk {
        self.found(Self::prefix, choose)
    }

    /// The same where the disk wrote the sectors of what was not synced in any
    /// order: each may be there, be zeros, or hold what it held before.
    pub fn after_power_cut_in_sectors(&self, choose: impl FnMut(usize) -> usize) -> SimDisk {
        self.found(Self::sectors, choose)
    }

    /// The unsynced bytes up to some place.
    fn prefix(unsynced: &[u8], choose: &mut dyn FnMut(usize) -> usize) -> Vec<u8> {
        let kept = choose(unsynced.len() + 1).min(unsynced.len());
        unsynced[..kept].to_vec()
    }

    fn sectors(unsynced: &[u8], choose: &mut dyn FnMut(usize) -> usize) -> Vec<u8> {
        let mut bytes = Self::prefix(unsynced, choose);
        for sector in bytes.chunks_mut(SECTOR_BYTES) {
            match choose(3) {
                0 => {}
                1 => sector.fill(0),
                _ => sector.fill(0xA5),
            }
        }
        bytes
    }

    fn found(
        &self,
        unsynced_found: impl Fn(&[u8], &mut dyn FnMut(usize) -> usize) -> Vec<u8>,
        mut choose: impl FnMut(usize) -> usize,
    ) -> SimDisk {
        let state = self.lock();
        let mut found = State::default();
        let mut keep =
            |name: &String, contents: &Contents, choose: &mut dyn FnMut(usize) -> usize| {
                let (synced, unsynced) = contents.bytes.split_at(contents.synced);
                let bytes = [synced, &unsynced_found(unsynced, choose)].concat();
                found.files.insert(name.clone(), Contents::durable(bytes));
                found.durable.insert(name.clone(), ());
            };
        for (name, contents) in &state.files {
            let is_durable = state.durable.contains_key(name);
            if is_durable || choose(2) == 1 {
                keep(name, contents, &mut choose);
            }
        }
        for (name, contents) in &state.removed {
            if !state.files.contains_key(name) && choose(2) == 1 {
                keep(name, contents, &mut choose);
            }
        }
        drop(state);
        SimDisk {
            state: Arc::new(Mutex::new(found)),
            gate: Arc::default(),
        }
    }

    /// What a process finds that starts after `kill -9`: everything written.
    pub fn after_kill(&self) -> SimDisk {
        let mut state = self.lock();
        // A process that ends in a sync: the system goes on with it.
        if state.is_off {
            state.files.values_mut().for_each(|f| f.is_doubtful = false);
        }
        let found = State {
            files: state.files.clone(),
            durable: state.durable.clone(),
            removed: state.removed.clone(),
            ..State::default()
        };
        drop(state);
        SimDisk {
            state: Arc::new(Mutex::new(found)),
            gate: Arc::default(),
        }
    }

    /// Names of the files, in order.
    pub fn names(&self) -> Vec<String> {
        self.lock().files.keys().cloned().collect()
    }

    /// The bytes of a file.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        self.lock().files[name].bytes.clone()
    }

    /// Replaces the bytes of a file, as damage does.
    pub fn overwrite(&self, name: &str, bytes: Vec<u8>) {
        self.lock()
            .files
            .insert(name.into(), Contents::durable(bytes));
    }
}

/// Everything that may be found after a power cut now, one after the other.
pub fn every_power_cut(disk: &SimDisk, mut check: impl FnMut(SimDisk)) {
    let mut script: Vec<usize> = Vec::new();
    loop {
        let mut taken: Vec<(usize, usize)> = Vec::new();
        check(disk.after_power_cut(|options| {
            let choice = script.get(taken.len()).copied().unwrap_or(0);
            taken.push((choice, options));
            choice
        }));
        while taken
            .pop_if(|(choice, options)| *choice + 1 == *options)
            .is_some()
        {}
        let Some(last) = taken.last_mut() else {
            return;
        };
        last.0 += 1;
        script = taken.iter().map(|(choice, _)| *choice).collect();
    }
}

impl Contents {
    fn durable(bytes: Vec<u8>) -> Self {
        Self {
            synced: bytes.len(),
            bytes,
            is_doubtful: false,
        }
    }

    fn sync(&mut self) {
        if !self.is_doubtful {
            self.synced = self.bytes.len();
        }
    }
}

impl State {
    fn take_fault(&mut self, is_meant: impl Fn(&Fault) -> bool) -> Option<Fault> {
        let at = self.faults.iter().position(is_meant)?;
        Some(self.faults.remove(at))
    }

    /// A call that changes the disk.
    fn powered(&mut self) -> io::Result<()> {
        self.is_off |= self.steps_left == Some(0);
        if self.is_off {
            return Err(io::Error::other("the power is cut"));
        }
        if let Some(left) = &mut self.steps_left {
            *left -= 1;
        }
        Ok(())
    }

    fn synced(&mut self) -> io::Result<()> {
        self.is_off |= self.syncs_left == Some(0);
        self.powered()?;
        if let Some(left) = &mut self.syncs_left {
            *left -= 1;
        }
        self.syncs += 1;
        Ok(())
    }

    fn file(&mut self, name: &str) -> io::Result<&mut Contents> {
        let absent = || io::Error::new(io::ErrorKind::NotFound, name.to_owned());
        self.files.get_mut(name).ok_or_else(absent)
    }
}

impl Disk for SimDisk {
    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let mut state = self.lock();
        state.powered()?;
        if state.take_fault(|f| *f == Fault::CreateNoRoom).is_some() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        if state.files.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.files.insert(name.into(), Contents::default());
        Ok(Box::new(SimFile {
            name: name.into(),
            disk: self.clone(),
        }))
    }

    fn reopen(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        self.lock().file(name)?;
        Ok(Box::new(SimFile {
            name: name.into(),
            disk: self.clone(),
        }))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.names())
    }

    fn read_at(&self, name: &str, offset: u64, bytes: usize) -> io::Result<Vec<u8>> {
        let mut state = self.lock();
        if state.take_fault(|f| *f == Fault::ReadFails).is_some() {
            state.read_failures += 1;
            return Err(io::Error::other("input/output error"));
        }
        let contents = state.file(name)?;
        let start = (offset as usize).min(contents.bytes.len());
        let end = start.saturating_add(bytes).min(contents.bytes.len());
        Ok(contents.bytes[start..end].to_vec())
    }

    fn len(&self, name: &str) -> io::Result<u64> {
        Ok(self.lock().file(name)?.bytes.len() as u64)
    }

    fn truncate(&self, name: &str, len: u64) -> io::Result<()> {
        let mut state = self.lock();
        state.synced()?;
        let contents = state.file(name)?;
        contents.bytes.truncate(len as usize);
        contents.sync();
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.lock();
        state.powered()?;
        let absent = || io::Error::new(io::ErrorKind::NotFound, name.to_owned());
        let contents = state.files.remove(name).ok_or_else(absent)?;
        if state.durable.contains_key(name) {
            state.removed.insert(name.into(), contents);
        }
        Ok(())
    }

    fn sync_names(&self) -> io::Result<()> {
        let mut state = self.lock();
        if state.take_fault(|f| *f == Fault::SyncNamesFails).is_some() {
            return Err(io::Error::other("fsync failed"));
        }
        state.synced()?;
        state.durable = state.files.keys().map(|name| (name.clone(), ())).collect();
        state.removed.clear();
        Ok(())
    }
}

impl DiskFile for SimFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.disk.lock();
        state.powered()?;
        if state.take_fault(|f| *f == Fault::AppendFails).is_some() {
            return Err(io::Error::other("input/output error"));
        }
        let fault = state.take_fault(|f| matches!(f, Fault::NoRoom { .. }));
        let contents = state.file(&self.name)?;
        if let Some(Fault::NoRoom { kept }) = fault {
            let kept = kept.min(bytes.len());
            contents.bytes.extend_from_slice(&bytes[..kept]);
            return Err(io::ErrorKind::StorageFull.into());
        }
        contents.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.disk.pass_gate();
        let mut state = self.disk.lock();
        if state.take_fault(|f| *f == Fault::SyncFails).is_some() {
            state.file(&self.name)?.is_doubtful = true;
            return Err(io::Error::other("fdatasync failed"));
        }
        state.synced()?;
        state.file(&self.name)?.sync();
        Ok(())
    }

    fn cut(&mut self, len: u64) -> io::Result<()> {
        let mut state = self.disk.lock();
        state.powered()?;
        let contents = state.file(&self.name)?;
        contents.bytes.truncate(len as usize);
        contents.synced = contents.synced.min(contents.bytes.len());
        // Nothing is left of what could not be written.
        contents.is_doubtful &= contents.synced < contents.bytes.len();
        Ok(())
    }
}
