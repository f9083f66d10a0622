//! What the driver and the server say, sorted by what the caller does next.

use ::mongodb::error::{Error, ErrorKind, RETRYABLE_ERROR, RETRYABLE_WRITE_ERROR};

use super::NAME;
use crate::store::StoreError;

/// Server codes of states that pass (names as in the server's
/// `error_codes.yml`); the same call may work later.
const PASSING_CODES: [i32; 34] = [
    6,     // HostUnreachable
    7,     // HostNotFound
    24,    // LockTimeout
    43,    // CursorNotFound
    46,    // LockBusy
    50,    // MaxTimeMSExpired
    63,    // StaleShardVersion
    64,    // WriteConcernFailed
    89,    // NetworkTimeout
    91,    // ShutdownInProgress
    100,   // UnsatisfiableWriteConcern
    112,   // WriteConflict
    133,   // FailedToSatisfyReadPreference
    134,   // ReadConcernMajorityNotAvailableYet
    150,   // StaleEpoch
    175,   // QueryPlanKilled
    189,   // PrimarySteppedDown
    202,   // NetworkInterfaceExceededTimeLimit
    237,   // CursorKilled
    239,   // SnapshotTooOld
    246,   // SnapshotUnavailable
    262,   // ExceededTimeLimit
    365,   // TemporarilyUnavailable
    462,   // IngressRequestRateLimitExceeded
    9001,  // SocketException
    10058, // LegacyNotPrimary
    10107, // NotWritablePrimary
    11600, // InterruptedAtShutdown
    11601, // Interrupted
    11602, // InterruptedDueToReplStateChange
    13388, // StaleConfig
    13435, // NotPrimaryNoSecondaryOk
    13436, // NotPrimaryOrSecondary
    14031, // OutOfDiskSpace
];

pub(super) fn unavailable(reason: impl Into<String>) -> StoreError {
    StoreError::Unavailable {
        store: NAME,
        reason: reason.into(),
    }
}

pub(super) fn refused(reason: impl Into<String>) -> StoreError {
    StoreError::Refused {
        store: NAME,
        reason: reason.into(),
    }
}

pub(super) fn corrupt(what: impl Into<String>, reason: impl Into<String>) -> StoreError {
    StoreError::Corrupt {
        store: NAME,
        what: what.into(),
        reason: reason.into(),
    }
}

/// A server's error by its code.
pub(super) fn by_code(code: i32, reason: &str) -> StoreError {
    let reason = format!("{reason} (code {code})");
    if PASSING_CODES.contains(&code) {
        unavailable(reason)
    } else {
        refused(reason)
    }
}

/// A driver's error. Its text names hosts and codes, never credentials: those
/// of the connection string are checked before and apart from it.
pub(super) fn classify(error: &Error) -> StoreError {
    if error.contains_label(RETRYABLE_WRITE_ERROR) || error.contains_label(RETRYABLE_ERROR) {
        return unavailable(error.kind.to_string());
    }
    match error.kind.as_ref() {
        ErrorKind::Command(command) => by_code(
            command.code,
            &format!("{}: {}", command.code_name, command.message),
        ),
        ErrorKind::Io(_)
        | ErrorKind::ConnectionPoolCleared { .. }
        | ErrorKind::ServerSelection { .. }
        | ErrorKind::DnsResolve { .. }
        | ErrorKind::Internal { .. }
        | ErrorKind::Shutdown => unavailable(error.kind.to_string()),
        ErrorKind::Bson(_) | ErrorKind::InvalidResponse { .. } => {
            corrupt("a reply", error.kind.to_string())
        }
        _ => refused(error.kind.to_string()),
    }
}

/// Whether the server answered a command with the error `code`.
pub(super) fn has_code(error: &Error, code: i32) -> bool {
    matches!(error.kind.as_ref(), ErrorKind::Command(command) if command.code == code)
}

/// The same error once more, for each write it befell.
pub(super) fn again(error: &StoreError) -> StoreError {
    match error {
        StoreError::Unavailable { store, reason } => StoreError::Unavailable {
            store,
            reason: reason.clone(),
        },
        StoreError::Corrupt {
            store,
            what,
            reason,
        } => StoreError::Corrupt {
            store,
            what: what.clone(),
            reason: reason.clone(),
        },
        StoreError::Refused { store, reason } => StoreError::Refused {
            store,
            reason: reason.clone(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failover_passes_and_a_validation_failure_does_not() {
        for code in [10107, 11602, 91, 189, 262, 64] {
            assert!(matches!(by_code(code, "x"), StoreError::Unavailable { .. }));
        }
        for code in [13, 18, 121, 10334, 2] {
            assert!(matches!(by_code(code, "x"), StoreError::Refused { .. }));
        }
    }

    #[test]
    fn a_broken_connection_is_unavailable() {
        let broken = Error::from(std::io::Error::from(std::io::ErrorKind::ConnectionReset));
        assert!(matches!(classify(&broken), StoreError::Unavailable { .. }));
    }
}
