//! Answers are those of calls on whole batches, for mixed good and bad requests of many tasks.

use std::sync::Arc;

use ringforge::Engine;
use ringforge_batch::{Batch, KemScheme, Messages, SignatureScheme, Signatures};
use ringforge_ml_dsa::MlDsa44;
use ringforge_ml_kem::MlKem768;
use ringforge_serve::operations::{
    Decapsulate, Encapsulate, Generate, GenerateSigningKeys, Sign, SignSm2, Verify, VerifySm2,
};
use ringforge_serve::{Config, Failure, Operation, Ready, Server};
use ringforge_sm2::Mode;
use ringforge_testkit::{Random, Target, bytes, devices, seed};

use crate::toy::{FIRST, Toy};

type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;

const TASKS: usize = 64;

/// Sends `count` requests from 64 tasks, each one of `requests`, and compares whether they have answers.
async fn agree<O: Operation>(server: Server<O>, requests: Vec<(Vec<Vec<u8>>, bool)>, count: usize) -> Outcome {
    let requests = Arc::new(requests);
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let (client, requests) = (server.client(task), requests.clone());
            tokio::spawn(async move {
                let mut random = Random::new(seed() ^ task as u64);
                // several at a time, as callers of one connection would
                for _ in 0..count / TASKS / 8 {
                    let mut pending = Vec::new();
                    for _ in 0..8 {
                        let number = random.below(requests.len());
                        let parts: Vec<&[u8]> = requests[number].0.iter().map(|part| &part[..]).collect();
                        pending.push((number, client.call_in_turn(&parts).await?));
                    }
                    for (number, pending) in pending {
                        match pending.await {
                            Ok(_) => assert!(requests[number].1, "request {number} has an answer"),
                            Err(Failure::Item(error)) => assert!(!requests[number].1, "request {number}: {error}"),
                            Err(error) => return Err(error.into()),
                        }
                    }
                }
                Outcome::Ok(())
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    server.drain();
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_million_requests_agree_with_single_calls() -> Outcome {
    let server = Server::with_fallback(Toy::working(), Some(Toy::working()), Config::default())?;
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let client = server.client(task);
            tokio::spawn(async move {
                let mut random = Random::new(seed() ^ task as u64);
                for _ in 0..(1_000_000 / TASKS).div_ceil(25) {
                    let mut pending = Vec::new();
                    for _ in 0..25 {
                        let mut first = bytes(random.bits(), FIRST);
                        if random.below(8) == 0 {
                            first[0] = 255;
                        }
                        let second = bytes(random.bits(), random.below(crate::toy::SECOND + 1));
                        let sent = client.call_in_turn(&[&first, &second]).await?;
                        pending.push((Toy::answer(&first, &second), sent));
                    }
                    for (wanted, pending) in pending {
                        match (pending.await, wanted) {
                            (Ok(answer), Ok(wanted)) => assert_eq!(answer.part(0), Some(&wanted[..])),
                            (Err(Failure::Item(_)), Err(_)) => {}
                            (answer, wanted) => panic!("{answer:?} instead of {wanted:?}"),
                        }
                    }
                }
                Outcome::Ok(())
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    Ok(())
}

/// A few valid requests of an operation, and as many with one bit of one part changed, and whether each is valid.
fn mixed(valid: Vec<Vec<Vec<u8>>>, part: usize, is_valid: impl Fn(&[Vec<u8>]) -> bool) -> Vec<(Vec<Vec<u8>>, bool)> {
    let mut random = Random::new(seed());
    let bad: Vec<_> = valid
        .iter()
        .map(|request| {
            let mut bad = request.clone();
            let place = random.below(bad[part].len());
            bad[part][place] ^= 1 << random.below(8);
            bad
        })
        .collect();
    valid
        .into_iter()
        .chain(bad)
        .map(|request| {
            let valid = is_valid(&request);
            (request, valid)
        })
        .collect()
}

/// The number of requests on a device: many on a GPU.
fn count(engine: &Engine) -> usize {
    if Target::Cuda.device().is_some() && !engine.device().limits().is_cpu() { 1 << 20 } else { 1 << 10 }
}

/// The devices, without the emulator, where a server's measurements take long.
fn engines() -> Vec<Engine> {
    devices().into_iter().filter(|device| !device.to_string().contains("emulator")).map(Engine::on).collect()
}

fn config(engine: &Engine) -> Config {
    Config { batch: if engine.device().limits().is_cpu() { 64 } else { 4096 }, ..Config::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn verifications_of_ml_dsa_agree() -> Outcome {
    for engine in engines() {
        let dsa = Signatures::<MlDsa44>::new(&engine)?;
        let sizes = MlDsa44::SIZES;
        let (mut public, mut secret) = (vec![0; 9 * sizes.public_key], vec![0; 9 * sizes.secret_key]);
        dsa.generate(&mut public, &mut secret)?.into_result()?;
        let texts: Vec<Vec<u8>> = (0..9).map(|i| bytes(i, 7 * i as usize)).collect();
        let messages: Vec<&[u8]> = texts.iter().map(|text| &text[..]).collect();
        let mut signatures = vec![0; 9 * sizes.signature];
        dsa.sign(&secret, &Messages::new(&messages), &mut signatures)?.into_result()?;
        let valid = (0..9).map(|i| {
            let (key, signature) = (
                &public[i * sizes.public_key..][..sizes.public_key],
                &signatures[i * sizes.signature..][..sizes.signature],
            );
            vec![key.to_vec(), texts[i].clone(), signature.to_vec()]
        });
        let single = |request: &[Vec<u8>]| {
            let status = dsa.verify(&request[0], &Messages::new(&[&request[1][..]]), &request[2]);
            status.expect("a verification").into_result().is_ok()
        };
        let requests = mixed(valid.collect(), 2, single);
        assert!(requests.iter().filter(|(_, valid)| *valid).count() >= 9);
        let server = Server::new(&engine, config(&engine), |engine| Verify::<MlDsa44>::new(engine, 64))?;
        agree(server, requests, count(&engine)).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signatures_of_ml_dsa_verify() -> Outcome {
    for engine in engines() {
        let config = Config { batch: 16, ..Config::default() };
        let keys = Server::new(&engine, config, GenerateSigningKeys::<MlDsa44>::new)?;
        let sign = Server::new(&engine, config, |engine| Sign::<MlDsa44>::new(engine, 40))?;
        let verify = Server::new(&engine, config, |engine| Verify::<MlDsa44>::new(engine, 40))?;
        let keys = keys.client(0).call(&[])?.await?;
        let (public_key, secret_key) = (keys.part(0).unwrap(), keys.part(1).unwrap());
        let texts: Vec<Vec<u8>> = (0..40).map(|i| bytes(i, i as usize)).collect();
        let (client, verifying) = (sign.client(0), verify.client(0));
        let pending: Vec<_> = texts.iter().map(|text| client.call(&[secret_key, text])).collect::<Result<_, _>>()?;
        for (text, pending) in texts.iter().zip(pending) {
            let signature = pending.await?;
            verifying.call(&[public_key, text, signature.part(0).unwrap()])?.await?;
        }
        // one key for all
        let sign = Server::new(&engine, config, |engine| Sign::<MlDsa44>::with_key(engine, 40, secret_key))?;
        let verify = Server::new(&engine, config, |engine| Verify::<MlDsa44>::with_key(engine, 40, public_key))?;
        for text in &texts[..10] {
            let signature = sign.client(0).call(&[text])?.await?;
            let signature = signature.part(0).unwrap();
            verify.client(0).call(&[text, signature])?.await?;
            assert!(matches!(verify.client(0).call(&[b"another", signature])?.await, Err(Failure::Item(_))));
        }
        assert!(Sign::<MlDsa44>::with_key(&engine, 40, public_key).is_err());
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn key_exchanges_of_ml_kem_agree() -> Outcome {
    for engine in engines() {
        let config = Config { batch: 64, ..Config::default() };
        let generate = Server::new(&engine, config, Generate::<MlKem768>::new)?;
        let encapsulate = Server::new(&engine, config, Encapsulate::<MlKem768>::new)?;
        let decapsulate = Server::new(&engine, config, Decapsulate::<MlKem768>::new)?;
        let (ready, kem) = (Ready::new(generate.client(0), 8)?, Batch::<MlKem768>::new(&engine)?);
        let mut seen = std::collections::HashSet::new();
        for i in 0..100 {
            let keys = ready.take()?.await?;
            let (public_key, secret_key) = (keys.part(0).unwrap(), keys.part(1).unwrap());
            assert!(seen.insert(public_key.to_vec()), "no key pair is given out twice");
            let sent = encapsulate.client(i).call(&[public_key])?.await?;
            let (ciphertext, shared_key) = (sent.part(0).unwrap(), sent.part(1).unwrap());
            let received = decapsulate.client(i).call(&[secret_key, ciphertext])?.await?;
            assert_eq!(received.part(0), Some(shared_key));
            if i % 20 == 0 {
                let mut single = vec![0; MlKem768::SIZES.shared_key];
                kem.decapsulate(secret_key, ciphertext, &mut single)?.into_result()?;
                assert_eq!(received.part(0), Some(&single[..]));
                // a key that is not reduced
                let answer = encapsulate.client(i).call(&[&[0xff; MlKem768::SIZES.public_key]])?.await;
                assert!(matches!(answer, Err(Failure::Item(_))));
            }
        }
        generate.drain();
        assert_eq!(core::iter::from_fn(|| ready.take().ok()).count(), 8, "what is ready is given out");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signatures_of_sm2_agree() -> Outcome {
    for engine in engines() {
        let signing = Server::new(&engine, config(&engine), |engine| SignSm2::new(engine, Mode::Scan))?;
        let (mut private, mut public) = ([0; 5 * 32], [0; 5 * 64]);
        ringforge_sm2::Signer::new(&engine, Mode::Scan)?.generate(&mut private, &mut public)?.into_result()?;
        let mut valid = Vec::new();
        for i in 0..20 {
            let (key, digest) = (i % 5, bytes(i as u64, 32));
            let signature = signing.client(i).call(&[&private[key * 32..][..32], &digest])?.await?;
            valid.push(vec![public[key * 64..][..64].to_vec(), digest, signature.part(0).unwrap().to_vec()]);
        }
        let verifier = ringforge_sm2::Verifier::new(&engine)?;
        let single = |request: &[Vec<u8>]| {
            verifier.verify(&request[0], &request[1], &request[2]).expect("a verification").into_result().is_ok()
        };
        let requests = mixed(valid, 2, single);
        assert_eq!(requests.iter().filter(|(_, valid)| *valid).count(), 20);
        agree(Server::new(&engine, config(&engine), VerifySm2::new)?, requests, count(&engine)).await?;
        // a private key out of range
        let answer = signing.client(0).call(&[&[0xff; 32], &[0; 32]])?.await;
        assert!(matches!(answer, Err(Failure::Item(_))));
    }
    Ok(())
}
