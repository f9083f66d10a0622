//! CPU seconds and memory of processes, and the machine, from `/proc`.

use procfs::Current as _;
use procfs::process::Process;
use serde::Serialize;

/// A process cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("process {pid} cannot be read: {source}; is it running, and on this machine?")]
pub struct CpuError {
    pid: i32,
    source: procfs::ProcError,
}

/// One look at a process.
#[derive(Debug, Clone, Serialize)]
pub struct Usage {
    /// Its id.
    pub pid: i32,
    /// Its name.
    pub name: String,
    /// CPU seconds since it began, in user and kernel mode together (`utime` +
    /// `stime`, in steps of a tick, 10 ms as a rule).
    pub cpu_seconds: f64,
    /// Bytes of memory it holds.
    pub rss_bytes: u64,
    /// The most it ever held.
    pub rss_peak_bytes: u64,
}

impl Usage {
    /// Of a process.
    ///
    /// # Errors
    /// It is gone or belongs to another machine.
    pub fn of(pid: i32) -> Result<Self, CpuError> {
        let failed = |source| CpuError { pid, source };
        Self::read(&Process::new(pid).map_err(failed)?).map_err(failed)
    }

    /// Of this process.
    ///
    /// # Errors
    /// `/proc` is not there.
    pub fn own() -> Result<Self, CpuError> {
        let failed = |source| CpuError { pid: 0, source };
        Self::read(&Process::myself().map_err(failed)?).map_err(failed)
    }

    fn read(process: &Process) -> Result<Self, procfs::ProcError> {
        let (stat, status) = (process.stat()?, process.status()?);
        let ticks = stat.utime + stat.stime;
        Ok(Self {
            pid: stat.pid,
            name: stat.comm,
            cpu_seconds: ticks as f64 / procfs::ticks_per_second() as f64,
            rss_bytes: status.vmrss.unwrap_or(0) * 1024,
            rss_peak_bytes: status.vmhwm.unwrap_or(0) * 1024,
        })
    }
}

/// The machine a run was on.
#[derive(Debug, Clone, Serialize)]
pub struct Machine {
    /// The CPU's name.
    pub cpu: String,
    /// Cores that this process may use.
    pub cores: usize,
    /// The kernel's release.
    pub kernel: String,
}

impl Machine {
    /// This machine; what cannot be read is `unknown`.
    #[must_use]
    pub fn this() -> Self {
        let unknown = || "unknown".to_owned();
        let cpu = procfs::CpuInfo::current()
            .ok()
            .and_then(|info| info.model_name(0).map(str::to_owned));
        let kernel = procfs::sys::kernel::Version::current()
            .ok()
            .map(|v| format!("{}.{}.{}", v.major, v.minor, v.patch));
        Self {
            cpu: cpu.unwrap_or_else(unknown),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            kernel: kernel.unwrap_or_else(unknown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_shows_up_as_cpu_seconds() {
        let before = Usage::own().unwrap();
        let mut after = before.clone();
        let mut turns = 0u64;
        while after.cpu_seconds <= before.cpu_seconds {
            for n in 0..1_000_000u64 {
                turns = std::hint::black_box(turns.wrapping_add(n));
            }
            after = Usage::of(before.pid).unwrap();
        }
        assert!(after.rss_bytes > 0 && after.rss_peak_bytes >= after.rss_bytes);
    }

    #[test]
    fn a_process_that_is_not_there_is_named() {
        let error = Usage::of(i32::MAX).unwrap_err().to_string();
        assert!(error.starts_with("process 2147483647 cannot be read"));
    }
}
