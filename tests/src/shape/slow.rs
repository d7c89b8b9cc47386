//! Transforms on the CPU for the stubs, in the order of the splitting tree; slow and simple, moduli of up to 32 bits.

use ringforge::U256;
use ringforge::split::{Layer, Split};

/// The tree of one modulus.
#[derive(Debug, Clone)]
pub struct Tree {
    q: u64,
    layers: Vec<Layer>,
    /// The constants of the nodes below each layer.
    constants: Vec<Vec<u64>>,
}

impl Tree {
    /// The tree of a row of a split, or nothing where the modulus has more than 32 bits.
    #[must_use]
    pub fn new(split: &Split, row: usize) -> Option<Self> {
        let q = split.roots().get(row)?.q.value_u64().filter(|q| q >> 32 == 0)?;
        let leaves = (0..split.leaves()).map(|leaf| Some(word(&split.leaf_constant(row, leaf)?)));
        let leaves = leaves.collect::<Option<Vec<u64>>>()?;
        let mut constants = vec![leaves];
        for layer in split.layers().iter().skip(1).rev() {
            // x^(rk) − z^r splits into x^k − z and others
            let radix = layer.radix();
            let below = &constants[constants.len() - 1];
            constants.push(below.chunks_exact(radix).map(|child| power(child[0], radix as u64, q)).collect());
        }
        constants.reverse();
        Some(Self { q, layers: split.layers().to_vec(), constants })
    }

    /// From coefficients to values.
    pub fn forward(&self, x: &mut [u64]) {
        for (layer, constants) in self.layers.iter().zip(&self.constants) {
            let radix = layer.radix();
            let node = x.len() * radix / constants.len();
            for (values, constants) in x.chunks_exact_mut(node).zip(constants.chunks_exact(radix)) {
                for i in 0..node / radix {
                    let parts: Vec<u64> = (0..radix).map(|p| values[p * node / radix + i]).collect();
                    for (j, &c) in constants.iter().enumerate() {
                        values[j * node / radix + i] =
                            parts.iter().rev().fold(0, |sum, part| (sum * c + part) % self.q);
                    }
                }
            }
        }
    }

    /// From values to coefficients.
    pub fn inverse(&self, x: &mut [u64]) {
        let q = self.q;
        for (layer, constants) in self.layers.iter().zip(&self.constants).rev() {
            let radix = layer.radix();
            let node = x.len() * radix / constants.len();
            for (values, constants) in x.chunks_exact_mut(node).zip(constants.chunks_exact(radix)) {
                let scale = invert(radix as u64, q);
                let inverses: Vec<u64> = constants.iter().map(|&c| invert(c, q)).collect();
                let over = invert(constants[0] + q - constants[1], q);
                for i in 0..node / radix {
                    let children: Vec<u64> = (0..radix).map(|j| values[j * node / radix + i]).collect();
                    let parts: Vec<u64> = if *layer == Layer::Sixth {
                        let high = (children[0] + q - children[1]) * over % q;
                        vec![(children[0] + q - high * constants[0] % q) % q, high]
                    } else {
                        let part =
                            |p| children.iter().zip(&inverses).map(|(x, c)| x * power(*c, p, q) % q).sum::<u64>();
                        (0..radix as u64).map(|p| part(p) % q * scale % q).collect()
                    };
                    for (p, part) in parts.iter().enumerate() {
                        values[p * node / radix + i] = *part;
                    }
                }
            }
        }
    }
}

/// f mod x^d − β for every leaf, by definition.
#[must_use]
pub fn residues(split: &Split, row: usize, f: &[u64]) -> Vec<u64> {
    let q = split.roots()[row].q.value_u64().unwrap_or(1);
    let leaf = |leaf| {
        let constant = word(&split.leaf_constant(row, leaf).unwrap_or_default());
        let at = move |v| f.iter().skip(v).step_by(split.base()).rev().fold(0, |sum, x| (sum * constant + x) % q);
        (0..split.base()).map(at)
    };
    (0..split.leaves()).flat_map(leaf).collect()
}

fn word(x: &U256) -> u64 {
    x.to_le_bytes().as_ref()[..8].iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

fn power(x: u64, mut e: u64, q: u64) -> u64 {
    let (mut power, mut square) = (1, x % q);
    while e > 0 {
        if e & 1 == 1 {
            power = power * square % q;
        }
        square = square * square % q;
        e >>= 1;
    }
    power
}

/// For prime q.
fn invert(x: u64, q: u64) -> u64 {
    power(x, q - 2, q)
}
