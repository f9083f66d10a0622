//! Scripts that use the product by another implementation: Python with pinned
//! packages, which are fetched once and kept beside the build.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sha2::{Digest, Sha256};

use super::mongod::{test_tools, test_tools_lock};

/// The MongoDB driver for Python.
pub(crate) const PYMONGO: &str = "pymongo==4.10.1";
/// Its parser of the text format is the reference one.
pub(crate) const PROMETHEUS_CLIENT: &str = "prometheus_client==0.21.1";
/// InfluxDB's own clients, of version 2 and of version 1, with all they need.
pub(crate) const INFLUXDB_CLIENTS: &str = "influxdb-client==1.50.0 influxdb==5.3.2 \
    certifi==2025.8.3 charset-normalizer==3.4.3 idna==3.10 msgpack==1.1.1 \
    python-dateutil==2.9.0.post0 pytz==2025.2 reactivex==4.0.4 requests==2.32.5 six==1.17.0 \
    typing_extensions==4.15.0 urllib3==2.5.0";

/// `python3` with `packages` at hand: `name==version`, separated by spaces, all
/// that they need themselves among them.
pub(crate) fn python(packages: &str) -> Command {
    let mut command = Command::new("python3");
    command
        .env("PYTHONPATH", installed(packages))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        // Lines are read as they are printed.
        .env("PYTHONUNBUFFERED", "1");
    command
}

/// Runs `script` (its path within the repository) with `packages` (see
/// [`python`]) at hand and `input` on standard input: the lines it prints.
pub(crate) fn run_script(
    packages: &str,
    script: &str,
    arguments: &[&str],
    input: &str,
) -> Vec<String> {
    let mut child = python(packages)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(script))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A script reads all of its input before it prints.
    let written = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && written.is_ok(), "{said}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// Where `packages` are installed; installs them at the first call.
fn installed(packages: &str) -> PathBuf {
    let pins: Vec<&str> = packages.split_whitespace().collect();
    let mut name = pins[0].replace("==", "-");
    if pins.len() > 1 {
        let digest = Sha256::digest(pins.join(" "));
        name += &format!(
            "-{:02x}{:02x}{:02x}{:02x}",
            digest[0], digest[1], digest[2], digest[3]
        );
    }
    let folder = test_tools().join(&name);
    let _lock = test_tools_lock();
    if !folder.is_dir() {
        let unpacking = test_tools().join(format!("{name}-unpacking"));
        let status = Command::new("python3")
            .args(["-m", "pip", "install", "--quiet", "--no-deps", "--upgrade"])
            .arg("--target")
            .arg(&unpacking)
            .args(&pins)
            .status();
        assert!(
            status.is_ok_and(|status| status.success()),
            "this test needs {packages}: let `python3 -m pip` install it"
        );
        std::fs::rename(&unpacking, &folder).unwrap();
    }
    folder
}
