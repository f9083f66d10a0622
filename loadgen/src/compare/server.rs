//! A server process of the comparison: started in a folder of its own, stopped
//! by its id.

use std::ffi::OsStr;
use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::CompareError;
use crate::cpu::Usage;

/// From the start of a server until it answers: MongoDB elects a primary, others
/// read their data.
const START_MAX: Duration = Duration::from_secs(60);
/// From the request to stop to the end: hourglass stores what is pending.
const STOP_MAX: Duration = Duration::from_secs(120);
/// Between two looks at another process: there is no event to wait for.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// A process, killed when it is dropped.
#[derive(Debug)]
pub(super) struct Server {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

impl Server {
    /// Starts a program whose output goes into a log in `folder`.
    pub(super) fn start<A: AsRef<OsStr>>(
        name: &'static str,
        program: &Path,
        arguments: impl IntoIterator<Item = A>,
        variables: &[(&str, String)],
        folder: &Path,
    ) -> Result<Self, CompareError> {
        std::fs::create_dir_all(folder).map_err(CompareError::file(folder))?;
        let log = folder.join(format!("{name}.log"));
        let failed = || CompareError::file(&log);
        let output = File::options()
            .create(true)
            .append(true)
            .open(&log)
            .map_err(failed())?;
        let errors = output.try_clone().map_err(failed())?;
        let child = Command::new(program)
            .args(arguments)
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .spawn()
            .map_err(CompareError::file(program))?;
        Ok(Self { name, child, log })
    }

    /// CPU and memory until now.
    pub(super) fn usage(&self) -> Result<Usage, CompareError> {
        Ok(Usage::of(self.child.id().cast_signed())?)
    }

    /// Waits until `ready` says so.
    pub(super) async fn wait_until_ready(
        &mut self,
        mut ready: impl AsyncFnMut() -> bool,
    ) -> Result<(), CompareError> {
        let begun = Instant::now();
        while !ready().await {
            if let Some(status) = self.ended()? {
                return Err(self.failure(format!("ended at its start with {status}")));
            }
            if begun.elapsed() > START_MAX {
                return Err(self.failure("did not answer in a minute".to_owned()));
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        Ok(())
    }

    /// Asks it to stop and waits for its end.
    pub(super) async fn stop(mut self) -> Result<(), CompareError> {
        if let Some(status) = self.ended()? {
            return Err(self.failure(format!("had ended by itself with {status}")));
        }
        let pid = Pid::from_raw(self.child.id().cast_signed());
        let asked = pid.map(|pid| kill_process(pid, Signal::TERM));
        if !matches!(asked, Some(Ok(()))) {
            return Err(self.failure("cannot be asked to stop".to_owned()));
        }
        let begun = Instant::now();
        while self.ended()?.is_none() {
            if begun.elapsed() > STOP_MAX {
                return Err(self.failure("did not stop in two minutes".to_owned()));
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        Ok(())
    }

    fn ended(&mut self) -> Result<Option<std::process::ExitStatus>, CompareError> {
        let log = self.log.clone();
        self.child.try_wait().map_err(CompareError::file(log))
    }

    fn failure(&self, why: String) -> CompareError {
        CompareError::Server {
            server: self.name,
            why,
            log: self.log.clone(),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only where it has ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A port of the loopback that is free now.
pub(super) fn free_port() -> Result<u16, CompareError> {
    TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(CompareError::file("127.0.0.1"))
}
