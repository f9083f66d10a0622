//! Scripts that read the product with another implementation: Python with one
//! pinned package, which is fetched once and kept beside the build.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::mongod::{test_tools, test_tools_lock};

/// The MongoDB driver for Python.
pub(crate) const PYMONGO: &str = "pymongo==4.10.1";
/// Its parser of the text format is the reference one.
pub(crate) const PROMETHEUS_CLIENT: &str = "prometheus_client==0.21.1";

/// Runs `script` (its path within the repository) with `package` (`name==version`)
/// at hand and `input` on standard input: the lines it prints.
pub(crate) fn run_script(
    package: &str,
    script: &str,
    arguments: &[&str],
    input: &str,
) -> Vec<String> {
    let mut child = Command::new("python3")
        .env("PYTHONPATH", installed(package))
        .env("PYTHONDONTWRITEBYTECODE", "1")
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

/// Where `package` is installed; installs it at the first call.
fn installed(package: &str) -> PathBuf {
    let name = package.replace("==", "-");
    let packages = test_tools().join(&name);
    let _lock = test_tools_lock();
    if !packages.is_dir() {
        let unpacking = test_tools().join(format!("{name}-unpacking"));
        let status = Command::new("python3")
            .args(["-m", "pip", "install", "--quiet", "--no-deps", "--upgrade"])
            .arg("--target")
            .arg(&unpacking)
            .arg(package)
            .status();
        assert!(
            status.is_ok_and(|status| status.success()),
            "this test reads with {package}: let `python3 -m pip` install it"
        );
        std::fs::rename(&unpacking, &packages).unwrap();
    }
    packages
}
