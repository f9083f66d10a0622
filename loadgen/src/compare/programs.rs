//! Where the programs of the systems are.

use std::path::{Path, PathBuf};

use clap::Args;

use super::system::{Program, System};

/// Programs by flags; a name without a slash is looked for on the PATH.
#[derive(Debug, Clone, Args)]
pub struct Programs {
    /// hourglass [default: beside loadgen, else on the PATH]
    #[arg(long, value_name = "PATH")]
    pub hourglass: Option<PathBuf>,
    /// MongoDB's server, 6.0 or newer
    #[arg(long, value_name = "PATH", default_value = "mongod")]
    pub mongod: PathBuf,
    /// `InfluxDB` 1.x
    #[arg(long, value_name = "PATH", default_value = "influxd")]
    pub influxd: PathBuf,
    /// `VictoriaMetrics`
    #[arg(long, value_name = "PATH", default_value = "victoria-metrics")]
    pub victoria_metrics: PathBuf,
}

impl Programs {
    /// The file of a program.
    ///
    /// # Errors
    /// There is none; why, in words.
    pub fn find(&self, program: Program) -> Result<PathBuf, String> {
        match program {
            Program::Hourglass => match &self.hourglass {
                Some(path) => located(path),
                None => match beside_this() {
                    Some(path) => Ok(path),
                    None => located(Path::new("hourglass")),
                },
            },
            Program::Mongod => located(&self.mongod),
            Program::Influxd => located(&self.influxd),
            Program::VictoriaMetrics => located(&self.victoria_metrics),
        }
    }

    /// Why a system cannot be started, where it cannot.
    #[must_use]
    pub fn missing(&self, system: System) -> Option<String> {
        let mut programs = system.programs().iter();
        programs.find_map(|program| self.find(*program).err())
    }
}

fn beside_this() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    Some(own.with_file_name("hourglass")).filter(|path| path.is_file())
}

fn located(path: &Path) -> Result<PathBuf, String> {
    if path.components().count() > 1 {
        let there = path.is_file().then(|| path.to_owned());
        return there.ok_or_else(|| format!("there is no {}", path.display()));
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders)
        .map(|folder| folder.join(path))
        .find(|file| file.is_file());
    found.ok_or_else(|| format!("no {} on the PATH", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        let programs = Programs {
            hourglass: Some("/nowhere/hourglass".into()),
            mongod: "sh".into(),
            influxd: "no-such-influxd".into(),
            victoria_metrics: "sh".into(),
        };
        let missing = |system| programs.missing(system);
        let no_hourglass = Some("there is no /nowhere/hourglass".to_owned());
        assert_eq!(missing(System::HourglassMongodb), no_hourglass);
        let no_influx = Some("no no-such-influxd on the PATH".to_owned());
        assert_eq!(missing(System::Influxdb), no_influx);
        assert_eq!(missing(System::OneDoc), None);
    }
}
