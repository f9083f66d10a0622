//! Limits of bodies hold whatever the coding, however the bytes arrive.

use std::sync::atomic::AtomicUsize;

use async_compression::tokio::bufread::{GzipEncoder, ZstdEncoder};
use http_body_util::{BodyExt, Full};
use tokio::io::BufReader;
use tokio_util::io::ReaderStream;

use super::super::BodyBudget;
use super::*;

const BODY: &[u8] = b"[{\"sensorId\":\"S1\",\"ts\":1777629600,\"temp\":24.1}]";

fn limits() -> BodyLimits {
    BodyLimits::default()
}

async fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    GzipEncoder::new(bytes).read_to_end(&mut out).await.unwrap();
    out
}

async fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    ZstdEncoder::new(bytes).read_to_end(&mut out).await.unwrap();
    out
}

/// A body that arrives in these frames, its length unknown.
fn framed(frames: Vec<Vec<u8>>) -> Body {
    Body::from_stream(stream::iter(frames.into_iter().map(Ok::<_, io::Error>)))
}

async fn read_body(
    body: Body,
    encoding: Option<&str>,
    limits: BodyLimits,
) -> Result<Bytes, ReceiveError> {
    let share = BodyBudget::new(usize::MAX).share();
    super::read_body(body, encoding, limits, share).await
}

async fn read(bytes: Vec<u8>, encoding: &str) -> Result<Bytes, ReceiveError> {
    read_body(Body::from(bytes), Some(encoding), limits()).await
}

/// Bytes without a pattern.
fn noise(count: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let next = std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    });
    next.take(count).collect()
}

#[tokio::test]
async fn c20_a_body_split_at_any_byte_is_the_same_body() {
    for (encoding, wire) in [
        ("identity", BODY.to_vec()),
        ("gzip", gzip(BODY).await),
        ("zstd", zstd(BODY).await),
    ] {
        for split in 0..=wire.len() {
            let (a, b) = wire.split_at(split);
            let body = framed(vec![a.to_vec(), b.to_vec()]);
            let read = read_body(body, Some(encoding), limits()).await.unwrap();
            assert_eq!(read, BODY, "{encoding} at {split}");
        }
        let body = framed(wire.iter().map(|byte| vec![*byte]).collect());
        assert_eq!(
            read_body(body, Some(encoding), limits()).await.unwrap(),
            BODY
        );
    }
}

#[tokio::test]
async fn encodings_are_named_in_any_case_and_one_at_a_time() {
    let gzipped = gzip(BODY).await;
    for encoding in [
        "gzip",
        "GZip",
        "x-gzip",
        " gzip ",
        "identity, gzip",
        "gzip,",
    ] {
        assert_eq!(
            read(gzipped.clone(), encoding).await.unwrap(),
            BODY,
            "{encoding}"
        );
    }
    for encoding in ["", "identity", "Identity"] {
        assert_eq!(read(BODY.to_vec(), encoding).await.unwrap(), BODY);
    }
    assert_eq!(
        read_body(Body::from(BODY), None, limits()).await.unwrap(),
        BODY
    );
    for encoding in ["br", "deflate", "gzip, zstd", "gzip, gzip", "gzip;q=1", "*"] {
        match read(gzipped.clone(), encoding).await {
            Err(ReceiveError::UnsupportedEncoding { name }) => assert_eq!(name, encoding),
            other => panic!("{encoding}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn all_members_and_frames_are_read() {
    for (encoding, a, b) in [
        ("gzip", gzip(b"[1,").await, gzip(b"2]").await),
        ("zstd", zstd(b"[1,").await, zstd(b"2]").await),
    ] {
        assert_eq!(
            read([a.clone(), b.clone()].concat(), encoding)
                .await
                .unwrap(),
            "[1,2]"
        );
        let body = framed(vec![a, b]);
        let read = read_body(body, Some(encoding), limits()).await.unwrap();
        assert_eq!(read, "[1,2]", "{encoding}");
    }
}

#[tokio::test]
async fn what_is_cut_damaged_or_trailed_by_something_is_refused() {
    for (encoding, wire) in [("gzip", gzip(BODY).await), ("zstd", zstd(BODY).await)] {
        for cut in 1..wire.len() {
            let error = read(wire[..cut].to_vec(), encoding).await.unwrap_err();
            assert!(
                matches!(error, ReceiveError::Damaged { .. }),
                "{encoding} at {cut}: {error}"
            );
        }
        for trailer in [&b"x"[..], b"\0\0\0\0\0\0\0\0", BODY] {
            let whole = [wire.as_slice(), trailer].concat();
            let error = read(whole, encoding).await.unwrap_err();
            assert!(
                matches!(error, ReceiveError::Damaged { .. }),
                "{encoding}: {error}"
            );
            let apart = framed(vec![wire.clone(), trailer.to_vec()]);
            let error = read_body(apart, Some(encoding), limits())
                .await
                .unwrap_err();
            assert!(
                matches!(error, ReceiveError::Damaged { .. }),
                "{encoding}: {error}"
            );
        }
        let error = read(BODY.to_vec(), encoding).await.unwrap_err();
        assert!(
            matches!(error, ReceiveError::Damaged { .. }),
            "{encoding}: {error}"
        );
    }
    let mut wrong_sum = gzip(BODY).await;
    let crc = wrong_sum.len() - 8;
    wrong_sum[crc] ^= 1;
    let error = read(wrong_sum, "gzip").await.unwrap_err();
    assert!(matches!(error, ReceiveError::Damaged { .. }), "{error}");
}

#[tokio::test]
async fn a_body_at_the_limit_is_read_and_a_byte_more_is_not() {
    let limits = BodyLimits {
        decompressed_bytes_max: 200_000,
        ..limits()
    };
    for (bytes, fits) in [(noise(200_000), true), (noise(200_001), false)] {
        for (encoding, wire) in [
            ("identity", bytes.clone()),
            ("gzip", gzip(&bytes).await),
            ("zstd", zstd(&bytes).await),
        ] {
            let chunks = wire.chunks(1_000).map(<[u8]>::to_vec).collect();
            for body in [Body::from(wire.clone()), framed(chunks)] {
                match read_body(body, Some(encoding), limits).await {
                    Ok(read) => assert!(fits && read == bytes, "{encoding}"),
                    Err(ReceiveError::TooLarge { limit }) => {
                        assert!(!fits && limit == 200_000, "{encoding}");
                    }
                    Err(other) => panic!("{encoding}: {other}"),
                }
            }
        }
    }
}

/// A gibibyte of zeros, compressed as it is asked for; counts what was.
fn bomb(encoding: &str, asked: Arc<AtomicUsize>) -> Body {
    let zeros = BufReader::new(tokio::io::repeat(0).take(1 << 30));
    let wire: std::pin::Pin<Box<dyn AsyncRead + Send>> = match encoding {
        "gzip" => Box::pin(GzipEncoder::new(zeros)),
        _ => Box::pin(ZstdEncoder::new(zeros)),
    };
    Body::from_stream(
        ReaderStream::with_capacity(wire, 256).inspect(move |frame| {
            asked.fetch_add(frame.as_ref().map_or(0, Bytes::len), Ordering::Relaxed);
        }),
    )
}

#[tokio::test]
async fn c23_a_bomb_is_cut_early_by_its_ratio() {
    for encoding in ["gzip", "zstd"] {
        let asked = Arc::new(AtomicUsize::new(0));
        let error = read_body(bomb(encoding, asked.clone()), Some(encoding), limits()).await;
        assert!(
            matches!(error, Err(ReceiveError::Bomb { ratio_max: 600 })),
            "{encoding}: {error:?}"
        );
        // All of it would be 1,043,000 bytes of gzip; 1 MiB is 1,019.
        let asked = asked.load(Ordering::Relaxed);
        assert!(asked < 8_000, "{encoding}: {asked} bytes were read");
    }
}

#[tokio::test]
async fn c23_a_bomb_is_cut_at_the_limit_where_its_ratio_is_allowed() {
    let limits = BodyLimits {
        decompressed_bytes_max: 4 << 20,
        ratio_max: u64::MAX,
        ..limits()
    };
    for encoding in ["gzip", "zstd"] {
        let asked = Arc::new(AtomicUsize::new(0));
        let error = read_body(bomb(encoding, asked.clone()), Some(encoding), limits).await;
        assert!(
            matches!(error, Err(ReceiveError::TooLarge { .. })),
            "{encoding}: {error:?}"
        );
        let asked = asked.load(Ordering::Relaxed);
        assert!(asked < 16_000, "{encoding}: {asked} bytes were read");
    }
    // The same in one frame, which says little of its ratio to come.
    let wire = gzip(&vec![0; 16 << 20]).await;
    let error = read_body(Body::from(wire), Some("gzip"), limits).await;
    assert!(
        matches!(error, Err(ReceiveError::TooLarge { .. })),
        "{error:?}"
    );
}

#[tokio::test]
async fn repetitive_readings_are_no_bomb() {
    let body = "{\"sensorId\":\"S1\",\"a\":0}\n"
        .repeat(100_000)
        .into_bytes();
    let wire = gzip(&body).await;
    assert!(body.len() / wire.len() > 150, "the test is of a high ratio");
    assert_eq!(read(wire, "gzip").await.unwrap(), body);
}

#[tokio::test]
async fn c23_members_without_content_are_bounded_too() {
    let limits = BodyLimits {
        decompressed_bytes_max: 1_000,
        ..limits()
    };
    let empty = gzip(b"").await;
    let endless = stream::repeat_with(move || Ok::<_, io::Error>(empty.clone()));
    let error = read_body(Body::from_stream(endless), Some("gzip"), limits).await;
    assert!(
        matches!(error, Err(ReceiveError::TooLarge { .. })),
        "{error:?}"
    );
}

#[tokio::test]
async fn c23_a_zstd_window_beyond_8_mib_is_refused() {
    // Magic number, a descriptor without a size, a window of 2^27 bytes, and
    // a last raw block of one byte.
    let window = |log: u8| {
        vec![
            0x28,
            0xB5,
            0x2F,
            0xFD,
            0x00,
            (log - 10) << 3,
            0x09,
            0,
            0,
            b'x',
        ]
    };
    assert_eq!(read(window(23), "zstd").await.unwrap(), "x");
    let error = read(window(27), "zstd").await.unwrap_err();
    assert!(matches!(error, ReceiveError::Damaged { .. }), "{error}");
}

#[tokio::test]
async fn a_length_beyond_the_limit_is_refused_before_reading() {
    for encoding in ["identity", "gzip", "zstd"] {
        let body = Full::new(Bytes::from(vec![0; 40 << 20]));
        let body = Body::new(body.inspect_frame(|_| panic!("the body was read")));
        let error = read_body(body, Some(encoding), limits()).await.unwrap_err();
        assert!(matches!(error, ReceiveError::TooLarge { limit } if limit == 32 << 20));
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_stops_coming_is_given_up() {
    // The first byte of each format.
    for (encoding, first) in [("identity", b"["), ("gzip", b"\x1f"), ("zstd", b"\x28")] {
        let start = stream::once(async { Ok::<_, io::Error>(Bytes::from_static(first)) });
        let body = Body::from_stream(start.chain(stream::pending()));
        let error = read_body(body, Some(encoding), limits()).await.unwrap_err();
        match error {
            ReceiveError::Stalled { waited } => assert_eq!(waited, limits().idle_timeout),
            other => panic!("{encoding}: {other}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_trickles_is_given_up() {
    let trickle = stream::unfold((), |()| async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Some((Ok::<_, io::Error>(Bytes::from_static(b" ")), ()))
    });
    let error = read_body(Body::from_stream(trickle), None, limits()).await;
    match error.unwrap_err() {
        ReceiveError::Stalled { waited } => assert_eq!(waited, limits().total_timeout),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_client_that_goes_away_is_told_from_damage() {
    for encoding in ["identity", "gzip", "zstd"] {
        let wire = match encoding {
            "gzip" => gzip(BODY).await,
            "zstd" => zstd(BODY).await,
            _ => BODY.to_vec(),
        };
        let gone = Err(io::Error::from(io::ErrorKind::ConnectionReset));
        let frames = [Ok(wire[..9].to_vec()), gone];
        let body = Body::from_stream(stream::iter(frames));
        let error = read_body(body, Some(encoding), limits()).await.unwrap_err();
        assert!(
            matches!(error, ReceiveError::Aborted(_)),
            "{encoding}: {error}"
        );
    }
}

#[tokio::test]
async fn an_empty_body_is_an_empty_body() {
    assert!(
        read_body(Body::empty(), None, limits())
            .await
            .unwrap()
            .is_empty()
    );
    assert!(read(gzip(b"").await, "gzip").await.unwrap().is_empty());
}

#[tokio::test]
async fn bodies_share_their_memory_and_give_it_back() {
    let budget = BodyBudget::new(100_000);
    let mut held = budget.share();
    assert!(held.grow_to(60_000));
    for encoding in ["identity", "gzip"] {
        let body = match encoding {
            "gzip" => gzip(&noise(50_000)).await,
            _ => noise(50_000),
        };
        let share = budget.share();
        let read = super::read_body(Body::from(body), Some(encoding), limits(), share).await;
        assert!(matches!(read, Err(ReceiveError::Busy)), "{encoding}");
    }
    drop(held);
    assert_eq!(budget.used(), 0);
    let body = Body::from(vec![b'x'; 50_000]);
    let read = super::read_body(body, None, limits(), budget.share()).await;
    let read = read.unwrap();
    assert_eq!(read.len(), 50_000);
    assert_eq!(budget.used(), 50_000);
    drop(read);
    assert_eq!(budget.used(), 0);
}
