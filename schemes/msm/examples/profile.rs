use ringforge::Engine;
use ringforge_msm::{Bases, Check, Curve, ScalarForm, multiples, step_times};
use std::time::Instant;
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let engine = Engine::best();
    println!("{}", engine.device());
    for spec in &args[1..] {
        let (name, log) = spec.split_once('/').unwrap();
        let log: u32 = log.parse()?;
        let (curve, g) = match name {
            "bn" => (Curve::bn254(), Curve::bn254().point(&[1], &[2])),
            "bls" => (Curve::bls12_381(), {
                let h = |s: &str| {
                    let s = format!("{s:0>96}");
                    (0..6).map(|i| u64::from_str_radix(&s[80 - 16 * i..96 - 16 * i], 16).unwrap()).collect::<Vec<_>>()
                };
                Curve::bls12_381().point(&h("17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb"), &h("08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888ae40caa232946c5e7e1"))
            }),
            _ => (Curve::bls12_381_g2(), {
                let h = |s: &str| {
                    let s = format!("{s:0>96}");
                    (0..6).map(|i| u64::from_str_radix(&s[80 - 16 * i..96 - 16 * i], 16).unwrap()).collect::<Vec<_>>()
                };
                let x = [h("024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8"), h("13e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e")].concat();
                let y = [h("0ce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a76d429a695160d12c923ac9cc3baca289e193548608b82801"), h("0606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af267492ab572e99ab3f370d275cec1da1aaa9075ff05f79be")].concat();
                Curve::bls12_381_g2().point(&x, &y)
            }),
        };
        let n = 1usize << log;
        let t = Instant::now();
        let points = multiples(&curve, &g, n);
        println!("{spec}: points {:.2?}", t.elapsed());
        let bases = Bases::upload(&engine, &curve, &points, Check::Trusted)?.in_subgroup();
        drop(points);
        let mut x = 0x9e37_79b9_7f4a_7c15u64;
        let mut bits = || {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            x.wrapping_mul(0x2545_f491_4f6c_dd1d)
        };
        let top = curve.order()[3];
        let scalars: Vec<[u64; 4]> =
            (0..n).map(|_| [bits(), bits(), bits(), ((u128::from(bits()) * u128::from(top)) >> 64) as u64]).collect();
        let stream = engine.stream()?;
        let on_device = stream.upload_secret(&scalars)?;
        let sum = bases.msm_on(&stream, &on_device, ScalarForm::Plain, 1)?;
        // sum of s_i (i + 1), modulo r
        let mut total = [0u128; 6];
        for (i, s) in scalars.iter().enumerate() {
            let mut carry = 0u128;
            for j in 0..4 {
                let p = u128::from(s[j]) * (i as u128 + 1) + carry + total[j];
                total[j] = p & u128::from(u64::MAX);
                carry = p >> 64;
            }
            total[4] += carry;
        }
        let r = curve.order();
        let mut rest = [0u64; 4];
        for limb in (0..5).rev() {
            for bit in (0..64).rev() {
                // rest = 2 rest + bit mod r
                let mut next = [0u64; 5];
                let mut carry = (total[limb] >> bit & 1) as u64;
                for j in 0..4 {
                    next[j] = rest[j] << 1 | carry;
                    carry = rest[j] >> 63;
                }
                next[4] = carry;
                let mut less = [0u64; 4];
                let mut borrow = false;
                for j in 0..4 {
                    let (d, b) = next[j].overflowing_sub(r[j]);
                    let (d, c) = d.overflowing_sub(borrow as u64);
                    less[j] = d;
                    borrow = b | c;
                }
                rest = if next[4] == 1 || !borrow { less } else { [next[0], next[1], next[2], next[3]] };
            }
        }
        let cpu = Bases::upload(&Engine::cpu(), &curve, &g, Check::OnCurve)?;
        assert_eq!(sum, cpu.msm(bytemuck::cast_slice(&[rest]), ScalarForm::Plain)?, "wrong sum");
        let mut times: Vec<f64> = (0..7)
            .map(|_| {
                let t = Instant::now();
                bases.msm_on(&stream, &on_device, ScalarForm::Plain, 1).unwrap();
                t.elapsed().as_secs_f64() * 1e3
            })
            .collect();
        times.sort_by(f64::total_cmp);
        println!("{spec}: {:.3} ms (min {:.3})", times[3], times[0]);
        if std::env::var_os("STEPS").is_some() {
            let steps = step_times(&stream, &bases, &on_device, ScalarForm::Plain)?;
            let mut by = std::collections::BTreeMap::<String, (f64, usize)>::new();
            for (name, ms) in &steps {
                let e = by.entry(name.clone()).or_default();
                e.0 += ms;
                e.1 += 1;
            }
            for (name, (ms, count)) in by {
                println!("   {name:<30} {ms:8.3} ms in {count}");
            }
        }
    }
    Ok(())
}
