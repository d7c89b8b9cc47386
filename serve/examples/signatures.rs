//! An HTTP server that verifies SM2 signatures. Requests come one by one, and are verified in batches.
//!
//! ```sh
//! cargo run --release -p ringforge-serve --example signatures             # answers a few requests of its own
//! cargo run --release -p ringforge-serve --example signatures -- 8080     # listens on 127.0.0.1:8080
//! ```
//!
//! `POST /verify` takes 160 bytes: a public key x ‖ y, a digest, and a signature r ‖ s. It answers 204 for a valid signature,
//! 422 for any other one, 400 for a request of another length, and 503 under overload.

use std::env;
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use ringforge::Engine;
use ringforge_serve::operations::VerifySm2;
use ringforge_serve::{Client, Config, Failure, Refused, Server};
use ringforge_sm2::{Mode, Signer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

async fn verify(State(client): State<Arc<Client<VerifySm2>>>, body: Bytes) -> StatusCode {
    let (Some(key), Some(digest), Some(signature)) = (body.get(..64), body.get(64..96), body.get(96..)) else {
        return StatusCode::BAD_REQUEST;
    };
    match client.call(&[key, digest, signature]) {
        Ok(pending) => match pending.await {
            Ok(_) => StatusCode::NO_CONTENT,
            Err(Failure::Item(_)) => StatusCode::UNPROCESSABLE_ENTITY,
            Err(_) => StatusCode::INTERNAL_SERVER_ERROR,
        },
        Err(Refused::Full | Refused::Closed) => StatusCode::SERVICE_UNAVAILABLE,
        Err(_) => StatusCode::BAD_REQUEST,
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let port = env::args().nth(1).map(|port| port.parse()).transpose()?;
    let config = Config { batch: 1024, ..Config::default() };
    let server = Server::new(&Engine::best(), config, VerifySm2::new)?;
    // a service with accounts would make a client for each
    let client = Arc::new(server.client("all"));
    let app = Router::new().route("/verify", post(verify)).with_state(client);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.unwrap_or(0))).await?;
    let address = listener.local_addr()?;
    println!("{server:?} listens on {address}");
    let serving = async { axum::serve(listener, app).await };
    if port.is_some() {
        serving.await?;
    } else {
        tokio::select! {
            served = serving => served?,
            tried = try_out(address) => tried?,
        }
    }
    server.drain();
    Ok(())
}

/// Sends a valid signature, a wrong one, and half a request.
async fn try_out(address: SocketAddr) -> Result<(), Box<dyn Error>> {
    let (mut private_key, mut public_key, digest, mut signature) = ([0; 32], [0; 64], [7; 32], [0; 64]);
    let signer = Signer::new(&Engine::cpu(), Mode::Scan)?;
    signer.generate(&mut private_key, &mut public_key)?.into_result()?;
    signer.sign(&private_key, &digest, &mut signature)?.into_result()?;
    let valid = [&public_key[..], &digest, &signature].concat();
    let mut wrong = valid.clone();
    wrong[100] ^= 1;
    for (body, status) in [(&valid[..], 204), (&wrong, 422), (&valid[..80], 400)] {
        let answer = post_to(address, body).await?;
        println!("{} bytes: {answer}", body.len());
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    }
    Ok(())
}

/// Posts a body, and returns the first line of the answer.
async fn post_to(address: SocketAddr, body: &[u8]) -> Result<String, Box<dyn Error>> {
    let mut connection = TcpStream::connect(address).await?;
    let length = body.len();
    let head =
        format!("POST /verify HTTP/1.1\r\nhost: {address}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    connection.write_all(&[head.as_bytes(), body].concat()).await?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await?;
    Ok(answer.lines().next().unwrap_or_default().to_owned())
}
