//! A bare HTTP server: reads a body and says 202, as hourglass would. What a
//! request costs beyond it is the work of the system behind.

use std::io;

use axum::Router;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::routing::{get, post};
use tokio::net::TcpListener;

use super::args::EchoArgs;

/// Serves on the loopback until the process ends, on a thread for each core.
///
/// # Errors
/// The port is taken.
pub async fn serve_echo(args: EchoArgs) -> io::Result<()> {
    let serving = tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()?;
        runtime.block_on(async {
            let listener = TcpListener::bind(("127.0.0.1", args.port)).await?;
            axum::serve(listener, router()).await
        })
    });
    serving.await.map_err(io::Error::other)?
}

fn router() -> Router {
    let answer = async |body: Bytes| {
        let text = match body.is_empty() {
            true => r#"{"accepted":0,"rejected":0}"#,
            false => r#"{"accepted":1,"rejected":0}"#,
        };
        (
            StatusCode::ACCEPTED,
            [(CONTENT_TYPE, "application/json")],
            text,
        )
    };
    Router::new()
        .route("/", get(async || ()))
        .route("/v1/readings", post(answer))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::super::write::{LineWriter, write_all};
    use super::*;
    use crate::http::{Connection, Target};
    use crate::post::Encoded;

    #[tokio::test]
    async fn it_answers_as_the_service_does() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = tokio::spawn(async move { axum::serve(listener, router()).await });
        let target = Target::new(&url).unwrap();
        let writer = LineWriter {
            connection: Connection::new(&target),
            path: "/v1/readings",
        };
        let batch = Encoded {
            body: Bytes::from_static(b"readings,sensor_id=S1 temp=1.0 1\n"),
            readings: 1,
        };
        let written = write_all(vec![writer], vec![batch; 3]).await;
        assert_eq!((written.readings, written.problems), (3, 0));
        server.abort();
    }
}
