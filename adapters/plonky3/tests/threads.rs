//! Tests that provers may be made on many threads at once.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use p3_field::PrimeCharacteristicRing;
use p3_koala_bear::KoalaBear;
use rayon::prelude::*;
use ringforge_plonky3::resident::Trace;
use ringforge_plonky3::stark::Prover;
use ringforge_plonky3::{Dft, Engine, HashField, Mmcs, Pcs, Poseidon2, testkit};
use ringforge_testkit::{Random, seed};

use crate::stark::config::own_configuration;

own_configuration!(KoalaBear, 4, [16, 8], 20);

/// Tables that threads fill while they wait for each other would never be full.
#[test]
fn provers_are_made_on_all_threads_at_once() {
    let (sender, receiver) = mpsc::channel();
    let work = move || {
        let engine = Engine::cpu();
        let config = config(&engine, &random_hash(&mut Random::new(seed())), 0, [1, 0, 1]);
        let prove = |log_n: usize| {
            let air = testkit::Sequences { columns: 2 * log_n };
            let trace = air.trace::<F>(1 << log_n);
            let prover = Prover::new(&engine, &config, &air).expect("a prover");
            let proof = prover.prove(Trace::rows(&trace.values, trace.width, F::ONE), &[]).expect("a proof");
            p3_uni_stark::verify(&config, &air, &proof, &[]).expect("a proof that is accepted");
        };
        thread::scope(|scope| {
            (1..5).for_each(|log_n| drop(scope.spawn(move || prove(log_n))));
            (0..16usize).into_par_iter().for_each(|i| prove(1 + i % 4));
        });
        // the receiver waits for this
        let _ = sender.send(());
    };
    let thread = thread::spawn(work);
    assert!(receiver.recv_timeout(Duration::from_secs(120)).is_ok(), "provers wait for each other, or a proof failed");
    thread.join().expect("no panic");
}
