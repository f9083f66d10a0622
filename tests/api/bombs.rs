//! C23: a small body that would become gigabytes is cut early and costs no
//! memory, on either side: it is made as it is sent.

use async_compression::tokio::bufread::{GzipEncoder, ZstdEncoder};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, BufReader, repeat};

use super::answers::{expect_problem, expect_unharmed, json_post, started};
use crate::support::hourglass::{Hourglass, Start};

const PIECE_BYTES: u64 = 16 << 20;
const PIECES: usize = 64;

fn zeros() -> BufReader<tokio::io::Take<tokio::io::Repeat>> {
    BufReader::new(repeat(0).take(PIECE_BYTES))
}

/// A gigabyte of zeros as one compressed piece of it again and again, which
/// gzip (RFC 1952, section 2.2) and zstd (RFC 8878, section 3.1) both allow:
/// making it in one takes longer than the server waits for a sender.
async fn again_and_again(mut encoder: impl AsyncRead + Unpin) -> reqwest::Body {
    let mut piece = Vec::new();
    encoder.read_to_end(&mut piece).await.unwrap();
    let pieces = std::iter::repeat_n(piece, PIECES).map(Ok::<_, std::io::Error>);
    reqwest::Body::wrap_stream(futures_util::stream::iter(pieces))
}

async fn gzip_bomb() -> reqwest::Body {
    again_and_again(GzipEncoder::new(zeros())).await
}

async fn zstd_bomb() -> reqwest::Body {
    again_and_again(ZstdEncoder::new(zeros())).await
}

/// Most memory the process ever had resident, in MB.
fn peak_megabytes(hourglass: &Hourglass) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", hourglass.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.unwrap().trim().trim_end_matches(" kB");
    kilobytes.parse::<u64>().unwrap() / 1000
}

async fn expect_light(hourglass: &Hourglass) {
    expect_unharmed(hourglass).await;
    let peak = peak_megabytes(hourglass);
    assert!(peak < 200, "{peak} MB were resident");
}

#[tokio::test]
async fn c23_a_gzip_bomb_is_cut_by_its_ratio() {
    let (_dir, hourglass) = started();
    let request = json_post(&hourglass, gzip_bomb().await);
    let request = request.header("content-encoding", "gzip");
    let parts = ["more than 600 times its compressed size", "uncompressed"];
    expect_problem(request, 413, "body_ratio_too_high", &parts).await;
    expect_light(&hourglass).await;
}

#[tokio::test]
async fn c23_a_zstd_bomb_is_cut_by_its_ratio() {
    let (_dir, hourglass) = started();
    let request = json_post(&hourglass, zstd_bomb().await);
    let request = request.header("content-encoding", "zstd");
    let parts = ["more than 600 times its compressed size", "uncompressed"];
    expect_problem(request, 413, "body_ratio_too_high", &parts).await;
    expect_light(&hourglass).await;
}

#[tokio::test]
async fn c23_a_bomb_of_any_ratio_is_cut_at_the_size_of_a_body() {
    let dir = TempDir::new().unwrap();
    let hourglass = Start::on(dir.path())
        .set("SERVER__BODY_RATIO_MAX", "1000000")
        .start();
    let parts = ["larger than 33554432 bytes (decompressed)", "smaller"];
    let request = json_post(&hourglass, gzip_bomb().await);
    let request = request.header("content-encoding", "gzip");
    expect_problem(request, 413, "body_too_large", &parts).await;
    let request = json_post(&hourglass, zstd_bomb().await);
    let request = request.header("content-encoding", "zstd");
    expect_problem(request, 413, "body_too_large", &parts).await;
    expect_light(&hourglass).await;
}
