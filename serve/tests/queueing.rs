//! Refusals, fairness, requests that are given up, and shutdown.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ringforge_serve::{Client, Config, Failure, Refused, Server, Wait};

use crate::toy::{FIRST, SECOND, Toy};

/// A server of one worker, whose batches wait until `Sender` is used or dropped. The first batch, of one item, is on its
/// way and blocks.
fn blocked(config: Config) -> (Server<Toy>, Arc<crate::toy::Seen>, Sender<()>) {
    let (go, wait) = channel::<()>();
    let (began, begin) = channel::<()>();
    let (wait, measured) = (Mutex::new((wait, began)), core::sync::atomic::AtomicUsize::new(0));
    let toy = Toy::new(move |_| {
        // the server's own two runs do not wait
        if measured.fetch_add(1, Ordering::SeqCst) >= 2 {
            let wait = wait.lock().unwrap();
            let _ = wait.1.send(());
            let _ = wait.0.recv();
        }
        Ok(())
    });
    let seen = toy.seen.clone();
    let server = Server::with_fallback(toy, None, Config { in_flight: 1, ..config }).unwrap();
    drop(call(&server.client("the first"), 0).unwrap());
    let first = call(&server.client("the first"), 0);
    begin.recv().unwrap();
    drop(first);
    (server, seen, go)
}

fn call(client: &Client<Toy>, value: u8) -> Result<ringforge_serve::Pending<crate::toy::ToyError>, Refused> {
    client.call(&[&[value; FIRST], b"ab"])
}

#[test]
fn a_full_lane_refuses_and_others_do_not_wait_for_it() {
    let config = Config { batch: 8, waiting: 8, lanes: 2, wait: Wait::Fixed(Duration::ZERO), ..Config::default() };
    let (server, seen, go) = blocked(config);
    let loud = server.client("loud");
    let mut waiting: Vec<_> = core::iter::from_fn(|| call(&loud, 1).ok()).collect();
    assert!(matches!(call(&loud, 1), Err(Refused::Full)));
    assert_eq!(waiting.len(), 64);
    // another client, in the other lane
    let quiet = (0..100).map(|name| server.client(name)).find(|client| call(client, 2).is_ok()).expect("a client");
    let pending = call(&quiet, 3).unwrap();
    let others: Vec<_> = core::iter::from_fn(|| call(&quiet, 2).ok()).collect();
    assert_eq!(others.len(), 30, "its share");
    drop(others);
    let before = seen.items.load(Ordering::SeqCst);
    go.send(()).unwrap();
    go.send(()).unwrap();
    assert_eq!(pending.wait().unwrap().part(0).unwrap(), Toy::answer(&[3; FIRST], b"ab").unwrap());
    assert!(seen.items.load(Ordering::SeqCst) <= before + 1 + 8, "it was in the first batch after it was sent");
    // there is room again
    drop(go);
    let mut context = Context::from_waker(Waker::noop());
    while let Some(pending) = waiting.pop() {
        assert!(pending.wait().is_ok());
    }
    let mut turn = Box::pin(loud.call_in_turn(&[&[4; FIRST], b""]));
    let Poll::Ready(Ok(pending)) = turn.as_mut().poll(&mut context) else { panic!("a place") };
    assert_eq!(pending.wait().unwrap().part(0).unwrap(), [4; FIRST]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_wait_for_their_turn() {
    let config = Config { batch: 4, waiting: 1, lanes: 1, ..Config::default() };
    let server = Server::with_fallback(Toy::working(), None, config).unwrap();
    let calls: Vec<_> = (0..200u8)
        .map(|value| {
            let client = server.client(value);
            tokio::spawn(async move { client.call_in_turn(&[&[value; FIRST], b""]).await.unwrap().await.unwrap() })
        })
        .collect();
    for (value, call) in (0..200u8).zip(calls) {
        assert_eq!(call.await.unwrap().part(0).unwrap(), [value; FIRST]);
    }
}

#[test]
fn requests_that_are_given_up_cost_at_most_their_place() {
    let (server, seen, go) = blocked(Config { batch: 64, ..Config::default() });
    let client = server.client(0);
    // pages of up to four requests
    let pending: Vec<_> = (0..40).map(|value| call(&client, value).unwrap()).collect();
    let kept = pending.into_iter().enumerate().filter(|(i, _)| *i < 20 && i % 2 == 0);
    let kept: Vec<_> = kept.map(|(_, pending)| pending).collect();
    drop(go);
    kept.into_iter().for_each(|pending| assert!(pending.wait().is_ok()));
    server.drain();
    let run = *seen.sizes.lock().unwrap().last().unwrap();
    assert!((19..24).contains(&run), "{run} of 10 requests and 30 that were given up");
}

#[test]
fn a_server_answers_all_before_it_ends() {
    let (server, _, go) = blocked(Config { batch: 8, waiting: 8, ..Config::default() });
    let client = server.client(0);
    let mut pending: Vec<_> = (0..50).map(|value| call(&client, value).unwrap()).collect();
    let ended = std::thread::spawn(move || server.drain());
    while !matches!(call(&client, 0), Err(Refused::Closed)) {
        std::thread::yield_now();
    }
    assert!(Pin::new(&mut pending[49]).poll(&mut Context::from_waker(Waker::noop())).is_pending());
    drop(go);
    ended.join().unwrap();
    for (value, mut pending) in pending.into_iter().enumerate() {
        let answer = Pin::new(&mut pending).poll(&mut Context::from_waker(Waker::noop()));
        let Poll::Ready(Ok(answer)) = answer else { panic!("request {value} was answered before the end: {answer:?}") };
        assert_eq!(answer.part(0).unwrap(), Toy::answer(&[value as u8; FIRST], b"ab").unwrap());
    }
}

#[test]
fn bad_requests_and_configurations_are_refused() {
    let server = Server::with_fallback(Toy::working(), None, Config::default()).unwrap();
    let client = server.client(0);
    let refused = |parts: &[&[u8]]| client.call(parts).unwrap_err();
    assert_eq!(refused(&[&[0; FIRST]]), Refused::Parts { expected: 2, got: 1 });
    let size = Refused::Size { part: 0, expected: FIRST, at_most: false, got: FIRST - 1 };
    assert_eq!(refused(&[&[0; FIRST - 1], b""]), size);
    assert_eq!(size.to_string(), "part 0 of the request has 7 bytes instead of 8");
    let size = Refused::Size { part: 1, expected: SECOND, at_most: true, got: SECOND + 1 };
    assert_eq!(refused(&[&[0; FIRST], &[0; SECOND + 1]]), size);
    assert_eq!(size.to_string(), "part 1 of the request has 21 bytes instead of at most 20");
    let answer = client.call(&[&[255; FIRST], b""]).unwrap().wait();
    assert!(matches!(&answer, Err(Failure::Item(_))), "{answer:?}");
    assert_eq!(client.call(&[&[0; FIRST], &[1; SECOND]]).unwrap().wait().unwrap().part(1), None);
    let changes: [fn(&mut Config); 4] = [|c| c.batch = 0, |c| c.in_flight = 0, |c| c.waiting = 0, |c| c.lanes = 0];
    for change in changes {
        let mut config = Config::default();
        change(&mut config);
        assert!(Server::with_fallback(Toy::working(), None, config).is_err());
    }
}

#[test]
fn batches_are_filled_up_to_powers_of_two() {
    let toy = Toy { powers_of_two: true, ..Toy::working() };
    let seen = toy.seen.clone();
    let server = Server::with_fallback(toy, None, Config { batch: 100, ..Config::default() }).unwrap();
    let client = server.client(0);
    let pending: Vec<_> = (0..77).map(|value| call(&client, value).unwrap()).collect();
    for (value, pending) in (0..77).zip(pending) {
        assert_eq!(pending.wait().unwrap().part(0).unwrap(), Toy::answer(&[value; FIRST], b"ab").unwrap());
    }
    assert!(seen.sizes.lock().unwrap().iter().all(|size| size.is_power_of_two()));
}
