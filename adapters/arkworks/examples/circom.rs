//! Proves with a key of snarkjs and a witness of circom, over BN254.
//!
//! `cargo run --release -p ringforge-arkworks --example circom -- circuit_final.zkey witness.wtns`

use std::error::Error;
use std::fs;
use std::time::Instant;

use ark_bn254::{Bn254, Fr};
use ark_ff::UniformRand;
use ark_std::rand::rngs::OsRng;
use ringforge_arkworks::{Backend, Check, Groth16Device, Zkey, read_wtns};

fn main() -> Result<(), Box<dyn Error>> {
    let files: Vec<String> = std::env::args().skip(1).collect();
    let [key, witness] = &files[..] else { return Err("the arguments are a .zkey and a .wtns file".into()) };
    let (key, witness) = (fs::read(key)?, read_wtns::<Fr>(&fs::read(witness)?)?);
    let key = Zkey::<Bn254>::new(&key)?;
    let backend = Backend::best();
    println!("{} variables, {} points, on {}", key.variables(), key.points(), backend.device());
    let start = Instant::now();
    let prover = Groth16Device::from_zkey(&[backend], &key, Check::OnCurve)?;
    println!("{:>10.2?}  key copied to the device, once", start.elapsed());
    let (start, r, s) = (Instant::now(), Fr::rand(&mut OsRng), Fr::rand(&mut OsRng));
    let proof = prover.prove_assignment(&witness, r, s)?;
    println!("{:>10.2?}  proof, verified", start.elapsed());
    println!("A = {}\nB = {}\nC = {}", proof.a, proof.b, proof.c);
    Ok(())
}
