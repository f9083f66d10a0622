//! What a single request could cost at best on this machine: the disk's sync and
//! a bare HTTP server, measured beside the system.

use std::path::Path;
use std::time::{Duration, Instant};

use super::disk::append_and_sync;
use super::http_server::{HttpServer, Start};
use super::load::{Form, Load};
use super::peer::{Peer, Place};
use super::report::Round;
use super::server::free_port;
use super::statistics::Latencies;
use super::{CompareError, measure};

const NAME: &str = "echo-server";

/// Writes one reading a request, the disk and the bare server around it.
pub(super) async fn single(
    peer: &mut impl Peer,
    load: &Load,
    place: &Place,
) -> Result<Round, CompareError> {
    let Place {
        folder,
        connections,
    } = place;
    let mut syncs = append_and_sync(folder)?;
    let (echo, echo_seconds) = echo(load, *connections, folder).await?;
    let mut round = measure::writes(peer, load).await?;
    syncs.extend(append_and_sync(folder)?);
    let (Some(sync), Some(echo)) = (Latencies::of(syncs), Latencies::of(echo)) else {
        return Ok(round);
    };
    let bound = 2.0 * sync.p99_ms + echo.p99_ms;
    let figures = &mut round.figures;
    let p99 = figures.get("batch_p99_ms").copied().unwrap_or(f64::NAN);
    for (name, value) in [
        ("fdatasync_p50_ms", sync.p50_ms),
        ("fdatasync_p99_ms", sync.p99_ms),
        ("echo_p50_ms", echo.p50_ms),
        ("echo_p99_ms", echo.p99_ms),
        (
            "echo_requests_per_second",
            echo.requests as f64 / echo_seconds.as_secs_f64(),
        ),
        ("p99_over_two_fdatasync_p99_and_echo_p99", p99 / bound),
    ] {
        figures.insert(name.to_owned(), value);
    }
    Ok(round)
}

/// The same requests to the bare server, as a process of its own.
async fn echo(
    load: &Load,
    connections: usize,
    folder: &Path,
) -> Result<(Vec<Duration>, Duration), CompareError> {
    let own = std::env::current_exe().map_err(CompareError::file("/proc/self/exe"))?;
    let port = free_port()?;
    let arguments = [NAME.to_owned(), format!("--port={port}")];
    let start = Start {
        program: &own,
        arguments,
        variables: &[],
        folder,
        port,
        ready_path: "/",
    };
    let mut server = HttpServer::new(NAME);
    server.start(start).await?;
    let bodies = load.batches(Form::Lines, 0..load.fleet.ticks())?;
    let begun = Instant::now();
    let written = server.write("/v1/readings", connections, bodies).await?;
    let took = begun.elapsed();
    server.stop().await?;
    match written.problems {
        0 => Ok((written.took, took)),
        _ => Err(CompareError::Answer {
            server: NAME,
            what: written.problems_shown.join("; "),
        }),
    }
}
