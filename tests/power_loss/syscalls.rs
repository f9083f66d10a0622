//! The system calls that this executable answers itself.
#![expect(
    unsafe_code,
    reason = "symbols of the C library, under their own names"
)]

use std::ffi::{c_int, c_void};
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::machine::Machine;

/// The directories that are watched.
static MACHINES: Mutex<Vec<Arc<Machine>>> = Mutex::new(Vec::new());

/// Watches a machine until it is dropped.
pub(crate) struct Watched(pub(crate) Arc<Machine>);

impl Watched {
    pub(crate) fn new(machine: Machine) -> Self {
        let machine = Arc::new(machine);
        lock().push(Arc::clone(&machine));
        Self(machine)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        lock().retain(|machine| !Arc::ptr_eq(machine, &self.0));
    }
}

fn lock() -> std::sync::MutexGuard<'static, Vec<Arc<Machine>>> {
    MACHINES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The file behind a descriptor and the machine it lies in.
fn found(fd: c_int) -> Option<(Arc<Machine>, PathBuf)> {
    let machines = lock();
    if machines.is_empty() {
        return None;
    }
    let path = fs::read_link(format!("/proc/self/fd/{fd}")).ok()?;
    let machine = machines.iter().find(|machine| machine.holds(&path))?;
    Some((Arc::clone(machine), path))
}

fn failed(error: c_int) -> c_int {
    // SAFETY: the C library's errno of this thread.
    unsafe { *libc::__errno_location() = error };
    -1
}

fn sync(fd: c_int) -> c_int {
    match found(fd).map(|(machine, path)| machine.sync(fd, &path)) {
        None | Some(Ok(())) => 0,
        Some(Err(error)) => failed(error),
    }
}

#[unsafe(no_mangle)]
extern "C" fn fsync(fd: c_int) -> c_int {
    sync(fd)
}

#[unsafe(no_mangle)]
extern "C" fn fdatasync(fd: c_int) -> c_int {
    sync(fd)
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn write(fd: c_int, bytes: *const c_void, count: usize) -> isize {
    let taken = found(fd).map(|(machine, path)| machine.takes(&path, count));
    let count = match taken {
        None => count,
        Some(Ok(count)) => count,
        Some(Err(error)) => return failed(error) as isize,
    };
    // SAFETY: the caller's promise, for no more bytes than it named.
    let written = unsafe { libc::syscall(libc::SYS_write, fd, bytes, count) };
    isize::try_from(written).unwrap_or(-1)
}
