//! Scripts in JavaScript: Node.js with the packages of a lock file, which are
//! fetched once and kept beside the build.

use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

use super::mongod::{test_tools, test_tools_lock};

/// `node` with the packages of `folder` (its path within the repository, where
/// `package.json` and `package-lock.json` are) at hand for `require`.
pub(crate) fn node(folder: &str) -> Command {
    let mut command = Command::new("node");
    command.env("NODE_PATH", installed(folder).join("node_modules"));
    command
}

/// Where the packages are installed; installs them at the first call.
pub(crate) fn installed(folder: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let lock_file = std::fs::read(source.join("package-lock.json")).unwrap();
    let digest = Sha256::digest(lock_file);
    let name = format!(
        "node-{:02x}{:02x}{:02x}{:02x}",
        digest[0], digest[1], digest[2], digest[3]
    );
    let installed = test_tools().join(&name);
    let _lock = test_tools_lock();
    if !installed.is_dir() {
        let unpacking = test_tools().join(format!("{name}-unpacking"));
        std::fs::create_dir_all(&unpacking).unwrap();
        for file in ["package.json", "package-lock.json"] {
            std::fs::copy(source.join(file), unpacking.join(file)).unwrap();
        }
        let status = Command::new("npm")
            .args([
                "ci",
                "--silent",
                "--ignore-scripts",
                "--no-audit",
                "--no-fund",
            ])
            .current_dir(&unpacking)
            .status();
        assert!(
            status.is_ok_and(|status| status.success()),
            "this test needs Node.js 18 or newer with npm, which installs {folder}"
        );
        std::fs::rename(&unpacking, &installed).unwrap();
    }
    installed
}
