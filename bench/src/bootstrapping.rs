//! Bootstrapping of RNS-CKKS, with the precision of its results.

use anyhow::Result;
use ringforge::Engine;
use ringforge_ckks::{BootstrapPlan, Bootstrapper, Ciphertext, Ckks, Complex64, Parameters, Randomness, SecretKey};

use ringforge_cli::measure;
use ringforge_cli::record::Measurement;
use ringforge_cli::roofline::Roofline;
use ringforge_cli::session::Bench;
use ringforge_cli::suite::{Case, Figure, Quoted, Scope, Suite};

pub(crate) static SUITE: Suite = Suite {
    name: "CKKS bootstrapping",
    title: "Homomorphic arithmetic: bootstrapping",
    about: "Bootstrapping of ciphertexts with full slots, keys and ciphertexts on the device, kernel by kernel. A case \
            names the degree and the levels that remain for users. Each line says how precise numbers of the unit square, \
            and slots that all hold 1, are after decryption, compared with the ciphertext that was bootstrapped. The \
            roofline bound moves keys and encoded linear maps once per batch.",
    figure: Figure::Item,
    headline: Some(("2^16, 12 levels of 40 bits", "complex")),
    quoted: QUOTED,
    cases,
    ..Suite::NONE
};

const SOURCE: &str = "commit 8df8b26, rebuilt and run by us on an H200 in November 2026, four graphs at once; decrypted: 21.7 \
                      bits for random slots and 7.3 for equal ones with 32-bit words, 20.3 and 7.3 with 64-bit words";

const QUOTED: &[Quoted] = &[
    Quoted {
        case: "2^16, 12 levels of 40 bits",
        peer: "Cheddar, 64-bit words, 10 levels",
        source: SOURCE,
        device: Some("H200"),
        seconds: &[("complex", 28.0e-3)],
    },
    Quoted {
        case: "2^16, 12 levels of 40 bits",
        peer: "Cheddar, 32-bit words, 13 levels",
        source: SOURCE,
        device: Some("H200"),
        seconds: &[("complex", 16.2e-3)],
    },
];

/// A set: its levels for users, the bits of the primes of Q and of P, how many primes make a level, and log2 of the scale.
struct Set {
    levels: &'static str,
    q: Vec<u32>,
    p: Vec<u32>,
    drop: usize,
    scale: i32,
}

fn sets() -> [Set; 2] {
    // q_0, levels of users, levels of the sine, levels from coefficients to slots
    let q = [&[60][..], &[40; 15], &[60; 8], &[57; 4]].concat();
    let short = [&[30; 2][..], &[27; 22], &[29; 16], &[28; 8]].concat();
    [
        Set { levels: "12 levels of 40 bits", q, p: vec![61; 6], drop: 1, scale: 40 },
        Set {
            levels: "8 levels of 54 bits, 32-bit words",
            q: short,
            p: [&[30; 2][..], &[31; 10]].concat(),
            drop: 2,
            scale: 54,
        },
    ]
}

fn cases(scope: &Scope) -> Result<Vec<Case>> {
    let log_n = scope.log_n(scope.either(16, 10));
    let case = |set: Set| {
        let (name, batches) = (format!("2^{log_n}, {}", set.levels), scope.batches(scope.either(&[1, 4], &[1])));
        let case = name.clone();
        let run = move |bench: &Bench, _: &_| lines(bench, &case, &set, log_n, &batches);
        Case::new(name, &["complex", "real"], run)
    };
    Ok(sets().into_iter().map(case).collect())
}

fn lines(bench: &Bench, case: &str, set: &Set, log_n: u32, batches: &[usize]) -> Result<Vec<Measurement>> {
    let parameters = Parameters::insecure(log_n, &set.q, &set.p)?;
    let parameters = parameters.rescaling_by(set.drop)?.with_scale(f64::from(set.scale).exp2())?;
    let ckks = Ckks::new(&Engine::on(bench.device.clone()), parameters)?;
    let (mut random, plan) = (Randomness::system(), BootstrapPlan::default());
    let secret = ckks.keys().secret_key(&mut random)?;
    let public = ckks.keys().public_key(&secret, &mut random)?;
    let bootstrapper = Bootstrapper::new(&ckks, plan)?;
    let keys = bootstrapper.keys(&secret, &mut random)?;
    let slots = ckks.parameters().slots();
    let mut numbers = ringforge_testkit::Random::new(bench.seed);
    let mut part = || (numbers.bits() as i64 as f64) * f64::exp2(-63.0);

    let mut lines = Vec::new();
    for &batch in batches {
        for (operation, is_real) in [("complex", false), ("real", true)] {
            let mut number = || Complex64::new(part(), if is_real { 0.0 } else { part() });
            let items: Vec<Vec<Complex64>> = (0..batch).map(|_| (0..slots).map(|_| number()).collect()).collect();
            let mut bootstrapped = |items: &[Vec<Complex64>]| -> Result<(Ciphertext, Ciphertext)> {
                let plain = ckks.encode(items, bootstrapper.input_level())?;
                let worn = ckks.encrypt(&plain, &public, &mut random)?;
                let fresh =
                    if is_real { bootstrapper.run_real(&worn, &keys)? } else { bootstrapper.run(&worn, &keys)? };
                Ok((worn, fresh))
            };
            let (worn, fresh) = bootstrapped(&items)?;
            let [rms, worst] = bits(&ckks, &secret, [&worn, &fresh], is_real)?;
            let (of_ones, fresh_ones) = bootstrapped(&[vec![Complex64::ONE; slots]])?;
            let [equal, _] = bits(&ckks, &secret, [&of_ones, &fresh_ones], is_real)?;

            let times = measure::runs(ckks.engine().stream()?, &mut [()], bench.effort, |()| {
                let fresh = if is_real { bootstrapper.run_real(&worn, &keys) } else { bootstrapper.run(&worn, &keys) };
                Ok(fresh.map(drop)?)
            })?;
            let said = Bootstrapper::memory(&ckks, plan, batch)?;
            let floor = Roofline::new(None, None, (said.keys + said.tables) / batch, &bench.peaks);
            let checked =
                format!("decrypted: {rms:.1} bits, worst slot {worst:.1}; {equal:.1} bits if all slots are equal");
            let right = rms > 22.0 && equal > 22.0;
            let line = Measurement::new(case, operation, batch, times).above(floor);
            lines.push(
                line.in_ring(ckks.level(ckks.parameters().top_level())?.plaintext_type()).checked(checked, right),
            );
        }
    }
    Ok(lines)
}

/// −log2 of the differences between the numbers of two ciphertexts, or between their real parts: root mean square, and of
/// the worst slot.
fn bits(ckks: &Ckks, secret: &SecretKey, both: [&Ciphertext; 2], is_real: bool) -> Result<[f64; 2]> {
    let [before, after] = both.map(|ciphertext| ckks.decrypt(ciphertext, secret));
    let (before, after) = (before?.concat(), after?.concat());
    let differences = before.iter().zip(&after).map(|(a, b)| a - b);
    let errors = differences.map(|of| if is_real { of.re.abs() } else { of.re.hypot(of.im) });
    let (squares, worst) =
        errors.fold((0.0, 0.0f64), |(squares, worst), error| (squares + error * error, worst.max(error)));
    Ok([-f64::log2(squares / before.len() as f64) / 2.0, -worst.log2()])
}
