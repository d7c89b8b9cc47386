//! The underlying public-key encryption: key generation, encryption and decryption, one item at a time on the CPU.

use ringforge::Result;
use ringforge::words::{self, Divisor};
use ringforge_e8::{
    Encryption, EncryptionSizes, centred_binomial, compress, decompress, first_nonzero, pack, sample_key, unpack,
    unpack_centred, unpack_key,
};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::inverse::{self, Steps};
use crate::params::Parameters;
use crate::product::{Bounds, Factors, Product};
use crate::radix;

/// Bits of a packed coefficient of f in a secret key.
const KEY_WIDTH: u32 = 4;

/// Key generation, encryption and decryption of one parameter set.
///
/// Neither timing nor memory addresses depend on secrets.
#[derive(Debug)]
pub(crate) struct Pke {
    pub(crate) parameters: Parameters,
    by_q: Divisor,
    encryption: Product,
    decryption: Product,
}

/// Working polynomials of one item, wiped when dropped.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct Polynomials {
    /// Centred coefficients of a large operand, for example of a public key or a ciphertext.
    pub(crate) large: Vec<i16>,
    /// Coefficients of a small operand, for example of f or of a sampled polynomial.
    pub(crate) small: Vec<i16>,
    /// Coefficients of a product over the integers.
    product: Vec<i32>,
    /// Residues modulo q.
    residues: Vec<u32>,
    /// Packed coefficients: of f, with one field of padding, or of a ciphertext.
    fields: Vec<u16>,
    /// The operands of products as evaluations. The left one is set by a transform and used by the next product.
    pub(crate) factors: Factors,
    steps: Steps,
}

impl Polynomials {
    pub(crate) fn new(n: usize) -> Self {
        Self {
            large: vec![0; n],
            small: vec![0; n],
            product: vec![0; n],
            residues: vec![0; n],
            fields: vec![0; n + 1],
            factors: Factors::default(),
            steps: Steps::default(),
        }
    }
}

impl Pke {
    pub(crate) fn new(parameters: &Parameters) -> Result<Self> {
        let product = |bounds| Product::new(parameters.n, bounds);
        Ok(Self {
            parameters: *parameters,
            by_q: Divisor::new(parameters.q),
            encryption: product(Bounds::of_encryption(parameters))?,
            decryption: product(Bounds::of_decryption(parameters))?,
        })
    }

    /// Writes the evaluations of a public key to `memory.factors.left`.
    pub(crate) fn transform_public(&self, public_key: &[u8], memory: &mut Polynomials) -> Result<()> {
        radix::decode(public_key, self.parameters.q, &mut memory.residues)?;
        centre(&memory.residues, self.parameters.q, &mut memory.large);
        self.transform_large(memory)
    }

    /// Writes the evaluations of `memory.large` to `memory.factors.left`, for encryption.
    pub(crate) fn transform_large(&self, memory: &mut Polynomials) -> Result<()> {
        self.encryption.forward(&memory.large, &mut memory.factors.left)
    }

    /// Encrypts with the public key whose evaluations are in `memory.factors.left`, and overwrites them.
    pub(crate) fn encrypt_to_values(
        &self,
        message: &[u8],
        coins: &[u8],
        ciphertext: &mut [u8],
        memory: &mut Polynomials,
    ) -> Result<()> {
        let Parameters { eta, q2_bits, n, .. } = self.parameters;
        let Polynomials { small, product, residues, fields, factors, .. } = memory;
        centred_binomial(eta, coins, small)?;
        self.encryption.multiply_values(small, factors, product)?;
        reduce(product, self.by_q, residues);
        compress(message, residues, self.by_q, q2_bits, false, fields);
        pack(q2_bits, &fields[..n], ciphertext)
    }

    /// Writes the evaluations of the f of a secret key to `memory.factors.left`.
    pub(crate) fn transform_secret(&self, pke_key: &[u8], memory: &mut Polynomials) -> Result<()> {
        let Polynomials { small, fields, .. } = memory;
        unpack_key(self.parameters.eta, pke_key, KEY_WIDTH, fields, small)?;
        self.transform_small(memory)
    }

    /// Writes the evaluations of `memory.small` to `memory.factors.left`, for decryption.
    pub(crate) fn transform_small(&self, memory: &mut Polynomials) -> Result<()> {
        self.decryption.forward(&memory.small, &mut memory.factors.left)
    }

    /// Decrypts with the f whose evaluations are in `memory.factors.left`, and overwrites them.
    pub(crate) fn decrypt_with_values(
        &self,
        ciphertext: &[u8],
        message: &mut [u8],
        memory: &mut Polynomials,
    ) -> Result<()> {
        let Parameters { q2_bits, n, .. } = self.parameters;
        let q2 = self.parameters.q2();
        let Polynomials { large, product, fields, factors, .. } = memory;
        unpack_centred(q2_bits, ciphertext, &mut fields[..n], large)?;
        self.decryption.multiply_values(large, factors, product)?;
        fields.iter_mut().zip(&*product).for_each(|(field, x)| *field = (*x as u32 & (q2 - 1)) as u16);
        decompress(fields, q2 as u16, message);
        Ok(())
    }

    /// Computes only the product of encryption. The coefficients of `large` must be below q, those of `small` from −η
    /// to η.
    #[cfg(feature = "testkit")]
    pub(crate) fn multiply(
        &self,
        large: &[u16],
        small: &[i16],
        out: &mut [u16],
        memory: &mut Polynomials,
    ) -> Result<()> {
        let Polynomials { large: centred, product, residues, factors, .. } = memory;
        residues.iter_mut().zip(large).for_each(|(residue, &x)| *residue = x.into());
        centre(residues, self.parameters.q, centred);
        self.encryption.multiply(centred, small, factors, product)?;
        reduce(product, self.by_q, residues);
        out.iter_mut().zip(&*residues).for_each(|(out, &x)| *out = x as u16);
        Ok(())
    }

    /// Returns true if a public key is packed as key generation packs it. Each key has exactly one such packing; other
    /// byte strings may unpack to the same key.
    pub(crate) fn is_canonical(&self, public_key: &[u8]) -> Result<bool> {
        let Parameters { n, q, .. } = self.parameters;
        let (mut digits, mut again) = (vec![0; n], vec![0; public_key.len()]);
        radix::decode(public_key, q, &mut digits)?;
        radix::encode(&mut digits, q, &mut again)?;
        Ok(again == public_key)
    }

    /// Returns the index of the first coefficient of a secret key that key generation never produces, or n if the
    /// padding is not zero.
    #[inline(never)] // the constant-time test finds this function in the machine code by its name
    pub(crate) fn bad_field(&self, pke_key: &[u8], memory: &mut Polynomials) -> Result<Option<usize>> {
        let Parameters { n, eta, .. } = self.parameters;
        unpack(KEY_WIDTH, pke_key, &mut memory.fields)?;
        // fields hold an odd offset minus f, and all coefficients of f are even except the constant one
        let largest = 4 * eta as u16 + 1;
        let fault = |largest: u16, parity: u16| {
            move |field: &u16| (largest.wrapping_sub(*field) >> 15) | ((field ^ parity) & 1)
        };
        let (constant, rest) = memory.fields.split_at(1);
        let (others, padding) = rest.split_at(n - 1);
        let (constant, others) = (constant.iter().map(fault(largest - 1, 0)), others.iter().map(fault(largest, 1)));
        Ok(first_nonzero(constant.chain(others).chain(padding.iter().map(fault(0, 0)))))
    }
}

/// Any bytes decode to a public key and to a secret key, so encryption and decryption check neither.
impl Encryption for Pke {
    type Polynomials = Polynomials;

    fn sizes(&self) -> EncryptionSizes {
        self.parameters.sizes()
    }

    fn polynomials(&self) -> Polynomials {
        Polynomials::new(self.parameters.n)
    }

    fn key_pair(
        &self,
        coins: [&[u8]; 2],
        public_key: &mut [u8],
        pke_key: &mut [u8],
        memory: &mut Polynomials,
    ) -> Result<bool> {
        let Parameters { q, eta, .. } = self.parameters;
        let Polynomials { large, small, product, residues, fields, factors, steps } = memory;
        sample_key(eta, coins[0], small, KEY_WIDTH, fields, pke_key)?;
        words::residues(small, q, residues);
        inverse::invert(residues, self.by_q, steps);

        centred_binomial(eta, coins[1], small)?;
        centre(residues, q, large);
        self.encryption.multiply(large, small, factors, product)?;
        reduce(product, self.by_q, residues);
        radix::encode(residues, q, public_key).map(|()| true)
    }

    fn encrypt(
        &self,
        public_key: &[u8],
        message: &[u8],
        coins: &[u8],
        ciphertext: &mut [u8],
        memory: &mut Polynomials,
    ) -> Result<()> {
        self.transform_public(public_key, memory)?;
        self.encrypt_to_values(message, coins, ciphertext, memory)
    }

    fn decrypt(&self, pke_key: &[u8], ciphertext: &[u8], message: &mut [u8], memory: &mut Polynomials) -> Result<()> {
        self.transform_secret(pke_key, memory)?;
        self.decrypt_with_values(ciphertext, message, memory)
    }
}

/// Converts residues modulo q to centred residues.
fn centre(residues: &[u32], q: u32, out: &mut [i16]) {
    out.iter_mut().zip(residues).for_each(|(out, &x)| *out = words::centred(x, q) as i16);
}

/// Reduces integers modulo q. The absolute values of the integers must be below 2^30 − q.
fn reduce(integers: &[i32], by_q: Divisor, out: &mut [u32]) {
    const TOP: u32 = 1 << 30;
    // the largest multiple of q up to 2^30; adding it makes all integers positive
    let lift = TOP - by_q.remainder(TOP);
    for (out, &x) in out.iter_mut().zip(integers) {
        *out = by_q.remainder((x as u32).wrapping_add(lift));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::SETS;

    /// Every value of a field at the first, second and last coefficient and in the padding. f is 1 plus an even number
    /// at the constant coefficient, and even elsewhere; even numbers are up to 2η in absolute value.
    #[test]
    fn fields_that_no_key_has_are_found() -> Result<()> {
        for set in &SETS {
            let (pke, n, eta) = (Pke::new(set)?, set.n, set.eta as i32);
            let good = |place: usize, field: u16| {
                let f = set.key_offset() as i32 - i32::from(field);
                match place {
                    0 => (f - 1) % 2 == 0 && (f - 1).abs() <= 2 * eta,
                    _ if place < n => f % 2 == 0 && f.abs() <= 2 * eta,
                    _ => field == 0,
                }
            };
            let mut fields = vec![set.key_offset() as u16; n + 1];
            (fields[0], fields[n]) = (set.key_offset() as u16 - 1, 0);
            for (place, field) in
                [0, 1, n - 1, n].into_iter().flat_map(|place| (0..16).map(move |field| (place, field)))
            {
                let kept = core::mem::replace(&mut fields[place], field);
                let mut key = vec![0; set.sizes().pke_key];
                pack(KEY_WIDTH, &fields, &mut key)?;
                let expected = (!good(place, field)).then_some(place);
                assert_eq!(pke.bad_field(&key, &mut Polynomials::new(n))?, expected, "{}: {field}", set.name);
                fields[place] = kept;
            }
        }
        Ok(())
    }
}
