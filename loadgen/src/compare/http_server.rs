//! A server that is written to and asked over HTTP, on a port of the loopback.

use std::ffi::OsStr;
use std::path::Path;

use bytes::Bytes;

use super::CompareError;
use super::load::Batches;
use super::server::Server;
use super::write::{LineWriter, Written, write_all};
use crate::cpu::Usage;
use crate::http::{Answer, Connection, HttpError, Target};
use crate::tally::excerpt;

const FORM: &str = "application/x-www-form-urlencoded";

/// How a server is started.
pub(super) struct Start<'a, A> {
    pub(super) program: &'a Path,
    pub(super) arguments: A,
    pub(super) variables: &'a [(&'a str, String)],
    pub(super) folder: &'a Path,
    /// Where it will listen.
    pub(super) port: u16,
    /// What it answers with a success once it is ready.
    pub(super) ready_path: &'a str,
}

/// The server; stopped until it is started.
#[derive(Debug)]
pub(super) struct HttpServer {
    name: &'static str,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    server: Server,
    connection: Connection,
    target: Target,
}

impl HttpServer {
    pub(super) fn new(name: &'static str) -> Self {
        Self {
            name,
            running: None,
        }
    }

    /// Starts it and waits until it is ready.
    pub(super) async fn start<A: AsRef<OsStr>>(
        &mut self,
        start: Start<'_, impl IntoIterator<Item = A>>,
    ) -> Result<(), CompareError> {
        let Start {
            program,
            arguments,
            variables,
            folder,
            port,
            ready_path,
        } = start;
        let mut server = Server::start(self.name, program, arguments, variables, folder)?;
        let url = format!("http://127.0.0.1:{port}");
        let target = Target::new(&url).map_err(CompareError::http(self.name))?;
        let mut connection = Connection::new(&target);
        let ready = async || {
            let answer = connection.get(ready_path, "*/*").await;
            answer.is_ok_and(|answer| answer.status.is_success())
        };
        server.wait_until_ready(ready).await?;
        self.running = Some(Running {
            server,
            connection,
            target,
        });
        Ok(())
    }

    /// CPU and memory until now, with its name.
    pub(super) fn usage(&self) -> Result<(&'static str, Usage), CompareError> {
        Ok((self.name, self.running()?.server.usage()?))
    }

    /// Asks for a page; the answer must be a success.
    pub(super) async fn get(
        &mut self,
        path: &str,
        accept: &'static str,
    ) -> Result<Answer, CompareError> {
        let got = self.connection()?.get(path, accept).await;
        self.success(path, got)
    }

    /// Posts fields as a form; the answer must be a success.
    pub(super) async fn submit(
        &mut self,
        path: &str,
        fields: &[(&str, &str)],
    ) -> Result<Bytes, CompareError> {
        let body = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(fields)
            .finish();
        let posted = self.connection()?.post(path, FORM, Bytes::from(body)).await;
        Ok(self.success(path, posted)?.body)
    }

    /// Writes lines over so many connections of their own.
    pub(super) async fn write(
        &self,
        path: &'static str,
        connections: usize,
        batches: Batches,
    ) -> Result<Written, CompareError> {
        let Batches::Lines(bodies) = batches else {
            return Err(CompareError::Nothing(format!("{} takes lines", self.name)));
        };
        let target = &self.running()?.target;
        let writer = || LineWriter {
            connection: Connection::new(target),
            path,
        };
        let writers = (0..connections).map(|_| writer()).collect();
        Ok(write_all(writers, bodies).await)
    }

    /// Stops it, where it runs.
    pub(super) async fn stop(&mut self) -> Result<(), CompareError> {
        match self.running.take() {
            Some(running) => running.server.stop().await,
            None => Ok(()),
        }
    }

    fn running(&self) -> Result<&Running, CompareError> {
        let running = self.running.as_ref();
        running.ok_or_else(|| CompareError::not_running(self.name))
    }

    fn connection(&mut self) -> Result<&mut Connection, CompareError> {
        match &mut self.running {
            Some(running) => Ok(&mut running.connection),
            None => Err(CompareError::not_running(self.name)),
        }
    }

    fn success(
        &self,
        path: &str,
        answer: Result<Answer, HttpError>,
    ) -> Result<Answer, CompareError> {
        let answer = answer.map_err(CompareError::http(self.name))?;
        match answer.status.is_success() {
            true => Ok(answer),
            false => Err(CompareError::Answer {
                server: self.name,
                what: format!("{} to {path}: {}", answer.status, excerpt(&answer.body)),
            }),
        }
    }
}
