//! A directory as a power cut leaves it: of each file what was synced last, of
//! each directory the names it had when it was synced last.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::{OsString, c_int};
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rand::RngExt;
use rand::rngs::StdRng;

use super::contents::Contents;

/// Number of a file, whatever its name.
type Inode = u64;
type Names = BTreeMap<OsString, Inode>;

/// What a power cut left.
#[derive(Debug)]
pub(crate) struct Image {
    pub(crate) dirs: Vec<PathBuf>,
    pub(crate) files: Vec<(PathBuf, Arc<Contents>)>,
}

impl Image {
    /// Lays it out in `root`.
    pub(crate) fn lay_out(&self, root: &Path) {
        for dir in &self.dirs {
            fs::create_dir(root.join(dir)).unwrap();
        }
        for (path, contents) in &self.files {
            contents
                .write(&File::create_new(root.join(path)).unwrap())
                .unwrap();
        }
    }
}

/// Told after each sync, while no other sync of the machine goes on.
type OnSync = Box<dyn FnMut(&State, u64) + Send>;

pub(crate) struct Machine {
    root: PathBuf,
    state: Mutex<State>,
    on_sync: Mutex<Option<OnSync>>,
    faults: Mutex<Vec<Fault>>,
}

/// A call that fails.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    /// What the path of the file ends with, or one of its folders is called.
    pub(crate) part: &'static str,
    /// Calls that still succeed before.
    pub(crate) after: u64,
    pub(crate) kind: FaultKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultKind {
    /// One sync fails, and what it was to make durable never is.
    SyncFails,
    /// No write finds room until the fault is lifted.
    NoRoom,
}

#[derive(Default)]
pub(crate) struct State {
    root: PathBuf,
    root_inode: Inode,
    syncs: u64,
    held: HashMap<Inode, Held>,
}

/// A file that was seen. Held open, so that its number is not given again.
struct Held {
    file: File,
    /// Of a directory, its names as synced last.
    names: Option<Names>,
    /// Of a file, what was synced last.
    synced: Arc<Contents>,
    is_dir: bool,
}

impl Machine {
    /// Watches `root`; what it holds now is durable.
    pub(crate) fn adopt(root: &Path) -> Self {
        let root = root.canonicalize().unwrap();
        let mut state = State {
            root: root.clone(),
            ..State::default()
        };
        state.root_inode = fs::metadata(&root).unwrap().ino();
        state.adopt(&root);
        Self {
            root,
            state: Mutex::new(state),
            on_sync: Mutex::new(None),
            faults: Mutex::default(),
        }
    }

    pub(crate) fn on_sync(&self, told: impl FnMut(&State, u64) + Send + 'static) {
        *self.on_sync.lock().unwrap() = Some(Box::new(told));
    }

    pub(crate) fn fail(&self, fault: Fault) {
        self.faults.lock().unwrap().push(fault);
    }

    pub(crate) fn lift_faults(&self) {
        self.faults.lock().unwrap().clear();
    }

    /// Faults that did not strike yet.
    pub(crate) fn faults_left(&self) -> usize {
        self.faults.lock().unwrap().len()
    }

    pub(crate) fn holds(&self, path: &Path) -> bool {
        path.starts_with(&self.root)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A sync of the open file `fd`.
    pub(crate) fn sync(&self, fd: c_int, path: &Path) -> Result<(), c_int> {
        if self.strikes(path, FaultKind::SyncFails) {
            return Err(libc::EIO);
        }
        let mut state = self.state();
        state.sync(fd);
        let mut on_sync = self.on_sync.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(told) = &mut *on_sync {
            let number = state.syncs;
            told(&state, number);
        }
        Ok(())
    }

    /// How many of `count` bytes a write takes.
    pub(crate) fn takes(&self, path: &Path, count: usize) -> Result<usize, c_int> {
        match self.strikes(path, FaultKind::NoRoom) {
            true => Err(libc::ENOSPC),
            false => Ok(count),
        }
    }

    fn strikes(&self, path: &Path, kind: FaultKind) -> bool {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        let inside = path.strip_prefix(&self.root).unwrap_or(path);
        let is_meant = |fault: &Fault| {
            let named = inside.iter().any(|part| part == fault.part);
            fault.kind == kind
                && (named
                    || inside
                        .as_os_str()
                        .as_bytes()
                        .ends_with(fault.part.as_bytes()))
        };
        let Some(at) = faults.iter().position(is_meant) else {
            return false;
        };
        if faults[at].after > 0 {
            faults[at].after -= 1;
            return false;
        }
        if kind == FaultKind::SyncFails {
            faults.remove(at);
        }
        true
    }
}

impl State {
    /// What `fd` is open on, held.
    fn hold(&mut self, path: &Path) -> Option<Inode> {
        let metadata = fs::metadata(path).ok()?;
        if !metadata.is_dir() && !metadata.is_file() {
            return None;
        }
        let file = File::open(path).ok()?;
        // Between the two calls the name may have come to mean another file.
        let metadata = file.metadata().ok()?;
        let inode = metadata.ino();
        self.held.entry(inode).or_insert_with(|| Held {
            file,
            names: None,
            synced: Arc::default(),
            is_dir: metadata.is_dir(),
        });
        Some(inode)
    }

    /// Names in the directory that `path` leads to, each held.
    fn list(&mut self, path: &Path) -> Names {
        let mut names = Names::new();
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            if let Some(inode) = self.hold(&entry.path()) {
                names.insert(entry.file_name(), inode);
            }
        }
        names
    }

    fn sync(&mut self, fd: c_int) {
        let path = PathBuf::from(format!("/proc/self/fd/{fd}"));
        let Some(inode) = self.hold(&path) else {
            return;
        };
        self.syncs += 1;
        if self.held[&inode].is_dir {
            let names = self.list(&path);
            self.held.get_mut(&inode).unwrap().names = Some(names);
        } else {
            let held = self.held.get_mut(&inode).unwrap();
            held.synced = Arc::new(Contents::read(&held.file).unwrap());
        }
    }

    fn adopt(&mut self, path: &Path) {
        let inode = self.hold(path).unwrap();
        if !self.held[&inode].is_dir {
            let held = self.held.get_mut(&inode).unwrap();
            held.synced = Arc::new(Contents::read(&held.file).unwrap());
            return;
        }
        let names = self.list(path);
        let children: Vec<PathBuf> = names.keys().map(|name| path.join(name)).collect();
        self.held.get_mut(&inode).unwrap().names = Some(names);
        for child in children {
            self.adopt(&child);
        }
    }

    /// Syncs so far.
    pub(crate) fn syncs(&self) -> u64 {
        self.syncs
    }

    /// The worst that a power cut may leave: nothing that was not synced.
    pub(crate) fn worst(&self) -> Image {
        self.image(&mut None)
    }

    /// Some of what a power cut may leave: of what was not synced, `rng` says
    /// which names and pages are there.
    pub(crate) fn some(&self, rng: &mut StdRng) -> Image {
        self.image(&mut Some(rng))
    }

    fn image(&self, rng: &mut Option<&mut StdRng>) -> Image {
        let mut image = Image {
            dirs: Vec::new(),
            files: Vec::new(),
        };
        let mut seen = BTreeSet::new();
        self.walk(self.root_inode, Path::new(""), &mut image, &mut seen, rng);
        image
    }

    fn walk(
        &self,
        dir: Inode,
        path: &Path,
        image: &mut Image,
        seen: &mut BTreeSet<Inode>,
        rng: &mut Option<&mut StdRng>,
    ) {
        let durable = self.held[&dir].names.clone().unwrap_or_default();
        for (name, inode) in self.chosen(path, durable, rng) {
            // A renamed directory cannot be at both places.
            let Some(held) = self.held.get(&inode).filter(|_| seen.insert(inode)) else {
                continue;
            };
            let path = path.join(name);
            if held.is_dir {
                image.dirs.push(path.clone());
                self.walk(inode, &path, image, seen, rng);
                continue;
            }
            let contents = match rng {
                None => Arc::clone(&held.synced),
                Some(rng) => {
                    let now = Contents::read(&held.file).unwrap();
                    if now.is_same(&held.synced) || rng.random_bool(0.3) {
                        Arc::clone(&held.synced)
                    } else {
                        Arc::new(held.synced.mixed(&now, rng))
                    }
                }
            };
            image.files.push((path, contents));
        }
    }

    /// The names that are found: the durable ones, or with `rng` of each name
    /// either what is durable or what it is now.
    fn chosen(&self, path: &Path, durable: Names, rng: &mut Option<&mut StdRng>) -> Names {
        let Some(rng) = rng else {
            return durable;
        };
        let mut now = Names::new();
        for entry in fs::read_dir(self.root.join(path))
            .into_iter()
            .flatten()
            .flatten()
        {
            // What was made since the last sync is not held, nor is its number
            // in use by anything else that matters then.
            if let Some(inode) = entry.metadata().ok().map(|metadata| metadata.ino())
                && self.held.contains_key(&inode)
            {
                now.insert(entry.file_name(), inode);
            }
        }
        let all: BTreeSet<OsString> = durable.keys().chain(now.keys()).cloned().collect();
        let choose = |name: OsString| {
            let (old, new) = (durable.get(&name), now.get(&name));
            let inode = if old == new || rng.random_bool(0.5) {
                old
            } else {
                new
            };
            inode.copied().map(|inode| (name, inode))
        };
        all.into_iter().filter_map(choose).collect()
    }
}
