//! Flags and subcommands.

use std::path::PathBuf;

use clap::Parser;

use super::import::ImportFlags;
use crate::config::Flag;

/// Names the configuration file where `--config` is not given.
pub const CONFIG_VARIABLE: &str = "HOURGLASS_CONFIG";

const HELP: &str = "\
A first reading, after `hourglass` was started in another terminal:
  curl http://127.0.0.1:8080/v1/readings -H 'Content-Type: application/json' \\
    -d '{\"sensorId\":\"S1\",\"temp\":24.1}'
  curl http://127.0.0.1:8080/v1/sensors/S1/latest

Configuration, each line overriding the one before it:
  defaults      config/hourglass.toml documents every key with its default
  file          only the one named by --config or HOURGLASS_CONFIG is read
  environment   HOURGLASS__SECTION__KEY, such as HOURGLASS__FLUSH__AGE_MAX=30s
  flags         those above
`hourglass check-config` shows what results, secrets masked.

Exit codes:
  0  done
  1  a failure at run time
  2  wrong usage or configuration
  3  verify or migrate found what is not right, and left it so
  4  import: the server rejected some items";

const VERIFY_HELP: &str = "\
Each finding is a line on standard output, the totals are the last two. With the
embedded store the service must be stopped; with MongoDB it may run, and
--data-dir names an empty directory.

Exit codes:
  0  everything is right, or was repaired
  1  the store cannot be opened or read on
  2  wrong usage or configuration
  3  something differs, is damaged or is not understood, and is left so";

/// Takes sensor readings over HTTP and UDP, keeps them in hourly buckets, answers queries.
///
/// Readings are durable when they are accepted, and in the next query. The store
/// is inside the process, or a MongoDB deployment. Without a command hourglass
/// serves.
#[derive(Debug, Parser)]
#[command(name = "hourglass", version, after_help = HELP)]
pub(super) struct Args {
    #[command(flatten)]
    common: CommonFlags,
    #[command(flatten)]
    door: DoorFlags,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, clap::Args)]
struct CommonFlags {
    /// Reads this TOML file [env: HOURGLASS_CONFIG]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Keeps journal and embedded store here [default: data]
    #[arg(long, global = true, value_name = "DIR")]
    data_dir: Option<String>,
    /// Keeps buckets in `embedded` or `mongodb://HOST/DATABASE` [default: embedded]
    #[arg(long, global = true, value_name = "URL")]
    store: Option<String>,
}

/// Flags of what listens.
#[derive(Debug, Default, clap::Args)]
pub(super) struct DoorFlags {
    /// Listens on this IP address and port [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Takes datagrams on this IP address and port [default: off; port 8094]
    #[arg(long, value_name = "ADDR")]
    udp: Option<String>,
    /// Allows an address that other machines reach, though clients are not authenticated
    #[arg(long)]
    insecure: bool,
}

/// From where to where. A connection string with a password is best given by
/// variable: arguments are seen by everyone on the machine.
#[derive(Debug, clap::Args)]
pub(super) struct MigrateFlags {
    /// Copies this store: `embedded:DATA_DIR` or `mongodb://HOST/DATABASE` [env: HOURGLASS_MIGRATE_FROM]
    #[arg(long, value_name = "STORE")]
    pub(super) from: Option<String>,
    /// Into this one [env: HOURGLASS_MIGRATE_TO]
    #[arg(long, value_name = "STORE")]
    pub(super) to: Option<String>,
}

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Runs the service until SIGTERM or Ctrl-C; the same as no command
    Serve(DoorFlags),
    /// Prints the effective settings as TOML, secrets masked
    CheckConfig(DoorFlags),
    /// Holds all that is stored to what it must be, and tells what is not right
    #[command(after_help = VERIFY_HELP)]
    Verify {
        /// Repairs what follows from the readings; never writes to what it does not understand
        #[arg(long)]
        repair: bool,
    },
    /// Copies one store into another, then compares both; may be run again
    Migrate(Box<MigrateFlags>),
    /// Sends files to a running server: CSV, NDJSON, line protocol
    Import(Box<ImportFlags>),
}

impl Args {
    /// The command, the configuration file, and the flags that set keys. A flag
    /// after the command wins over the same one before it.
    pub(super) fn resolve(self) -> (Command, Option<PathBuf>, Vec<Flag>) {
        let before = self.door;
        let command = self.command.unwrap_or(Command::Serve(DoorFlags::default()));
        let (listen, udp, insecure) = match &command {
            Command::Serve(after) | Command::CheckConfig(after) => (
                after.listen.clone().or(before.listen),
                after.udp.clone().or(before.udp),
                after.insecure || before.insecure,
            ),
            Command::Verify { .. } | Command::Import(_) | Command::Migrate(_) => {
                (before.listen, before.udp, before.insecure)
            }
        };
        let given = [
            ("--listen", "server.listen", listen),
            ("--udp", "udp.listen", udp),
            (
                "--insecure",
                "server.insecure",
                insecure.then(|| true.to_string()),
            ),
            ("--data-dir", "data.dir", self.common.data_dir),
            ("--store", "store.url", self.common.store),
        ];
        let flags = given
            .into_iter()
            .filter_map(|(name, key, value)| value.map(|value| Flag { name, key, value }));
        (command, self.common.config, flags.collect())
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_arguments_are_well_formed() {
        Args::command().debug_assert();
    }
}
