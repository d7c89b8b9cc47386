//! The underlying public-key encryption: key generation, encryption and decryption, one item at a time on the CPU.

#[cfg(test)]
mod tests;

use ringforge::kernels::KernelLayout;
use ringforge::words::{Divisor, Transform, centred, residues};
use ringforge::{Limits, Modulus, Result, Ring};
use ringforge_e8::{
    Encryption, EncryptionSizes, centred_binomial, compress, decompress, first_nonzero, pack, sample_key, unpack,
    unpack_centred, unpack_key,
};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::params::{Parameters, Q};

/// Public keys store the evaluations of h = g/f times this constant, 2^16 mod q. f and g are the secret polynomials.
const WIRE: u32 = (1 << 16) % Q;
/// The inverse of `WIRE` modulo q.
const UNWIRE: u32 = 2775;
const _: () = assert!(WIRE * UNWIRE % Q == 1);

/// Division by q, for products and sums of a few residues. Dividends must be below 2^31.
const BY_Q: Divisor = Divisor::new(Q);

/// Bits of a packed evaluation of h in a public key.
const WIRE_WIDTH: u32 = 12;

/// Layers of the incomplete NTT whose evaluations are in public keys.
const WIRE_DEPTH: u32 = 7;

/// The prime of the NTT that computes c·f, the product of a ciphertext and a secret key, over the integers. It exceeds
/// twice the absolute value of any coefficient of c·f, for centred c, in every set and for every valid key.
const PRIME: u32 = 25_178_113;

/// Returns the layout of the NTT of public keys, whose evaluations have the order that public keys store. The root of
/// unity is 55, of order 384; for n = 768 it is 3438, a cube root of 55, which allows one more layer.
pub(crate) fn wire_rows(parameters: &Parameters, limits: &Limits) -> Result<KernelLayout> {
    let root = if parameters.n == 768 { 3438u32 } else { 55 };
    let ring = Ring::trinomial(parameters.n, Modulus::new(Q)?)?.with_root(root)?;
    KernelLayout::of(&ring, limits)?.depth(WIRE_DEPTH)
}

/// Returns the layout of the NTT that computes c·f, the product of a ciphertext and a secret key, over the integers.
pub(crate) fn integer_rows(parameters: &Parameters, limits: &Limits) -> Result<KernelLayout> {
    KernelLayout::of(&Ring::trinomial(parameters.n, Modulus::new(PRIME)?)?, limits)
}

/// Key generation, encryption and decryption of one parameter set.
///
/// Timing and memory addresses reveal whether f has an inverse, and nothing else about secrets.
#[derive(Debug)]
pub(crate) struct Pke {
    pub(crate) parameters: Parameters,
    wire: Transform<u32>,
    integers: Transform<u32>,
}

/// Working polynomials of one item, wiped when dropped.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct Polynomials {
    /// Residues of the first operand, then of the product.
    a: Vec<u32>,
    /// Residues of the second operand.
    b: Vec<u32>,
    /// Sampled coefficients.
    small: Vec<i16>,
    /// Packed coefficients, or evaluations of a public key, as unsigned numbers.
    fields: Vec<u16>,
}

impl Polynomials {
    pub(crate) fn new(n: usize) -> Self {
        Self { a: vec![0; n], b: vec![0; n], small: vec![0; n], fields: vec![0; n] }
    }
}

impl Pke {
    pub(crate) fn new(parameters: &Parameters) -> Result<Self> {
        let limits = Limits::cpu();
        Ok(Self {
            parameters: *parameters,
            wire: Transform::of(&wire_rows(parameters, &limits)?, 0)?,
            integers: Transform::of(&integer_rows(parameters, &limits)?, 0)?,
        })
    }

    /// Returns the index of the first evaluation of a public key that is not below q, if any.
    pub(crate) fn bad_value(&self, public_key: &[u8], memory: &mut Polynomials) -> Result<Option<usize>> {
        unpack(WIRE_WIDTH, public_key, &mut memory.fields)?;
        Ok(first_above(&memory.fields, Q - 1))
    }

    /// Returns the index of the first packed coefficient of a secret key that exceeds the largest valid one, if any.
    #[inline(never)] // the constant-time test finds this function in the machine code by its name
    pub(crate) fn bad_field(&self, pke_key: &[u8], memory: &mut Polynomials) -> Result<Option<usize>> {
        unpack(self.parameters.key_width(), pke_key, &mut memory.fields)?;
        Ok(first_above(&memory.fields, self.parameters.largest_field()))
    }

    /// Rounds the coefficients `sigma` from modulo q to modulo q2, and adds the codewords of a message before rounding
    /// (CTRU) or after it (CNTR).
    fn compress(&self, message: &[u8], sigma: &[u32], out: &mut [u16]) {
        compress(message, sigma, BY_Q, self.parameters.q2_bits, self.parameters.noise, out);
    }

    /// Computes c·f modulo q2 from a packed ciphertext c and a packed key f, and writes it to `memory.fields`.
    fn multiply_by_key(&self, pke_key: &[u8], ciphertext: &[u8], memory: &mut Polynomials) -> Result<()> {
        let Polynomials { a, b, small, fields } = memory;
        let Parameters { eta, q2_bits, .. } = self.parameters;
        unpack_key(eta, pke_key, self.parameters.key_width(), fields, small)?;
        residues(small, PRIME, b);
        self.integers.forward(b)?;
        unpack_centred(q2_bits, ciphertext, fields, small)?;
        residues(small, PRIME, a);
        self.integers.forward(a)?;
        self.integers.multiply(a, b)?;
        self.integers.inverse(a)?;
        for (field, x) in fields.iter_mut().zip(&*a) {
            *field = (centred(*x, PRIME) as u32 & (self.parameters.q2() - 1)) as u16;
        }
        Ok(())
    }
}

impl Encryption for Pke {
    type Polynomials = Polynomials;

    fn sizes(&self) -> EncryptionSizes {
        self.parameters.sizes()
    }

    fn polynomials(&self) -> Polynomials {
        Polynomials::new(self.parameters.n)
    }

    /// Computes a key pair from coins, the pseudorandom bytes from which f and g are sampled. Returns `false` if f has
    /// no inverse.
    fn key_pair(
        &self,
        [f_coins, g_coins]: [&[u8]; 2],
        public_key: &mut [u8],
        pke_key: &mut [u8],
        memory: &mut Polynomials,
    ) -> Result<bool> {
        let Polynomials { a, b, small, fields } = memory;
        let Parameters { eta, .. } = self.parameters;

        sample_key(eta, f_coins, small, self.parameters.key_width(), fields, pke_key)?;
        residues(small, Q, a);
        self.wire.forward(a)?;
        let invertible = self.wire.invert(a)?;

        centred_binomial(eta, g_coins, small)?;
        residues(small, Q, b);
        self.wire.forward(b)?;
        self.wire.multiply(a, b)?;
        fields.iter_mut().zip(&*a).for_each(|(field, h)| *field = BY_Q.remainder(h * WIRE) as u16);
        pack(WIRE_WIDTH, fields, public_key)?;
        Ok(invertible)
    }

    fn encrypt(
        &self,
        public_key: &[u8],
        message: &[u8],
        coins: &[u8],
        ciphertext: &mut [u8],
        memory: &mut Polynomials,
    ) -> Result<()> {
        let Polynomials { a, b, small, fields } = memory;
        let Parameters { eta, noise, q2_bits, .. } = self.parameters;
        let (r_coins, e_coins) = coins.split_at(self.parameters.sizes().polynomial_coins);

        centred_binomial(eta, r_coins, small)?;
        residues(small, Q, a);
        unpack(WIRE_WIDTH, public_key, fields)?;
        b.iter_mut().zip(&*fields).for_each(|(h, field)| *h = (*field).into());
        self.wire.forward(a)?;
        self.wire.multiply(a, b)?;
        self.wire.inverse(a)?;
        if noise {
            centred_binomial(eta, e_coins, small)?;
        } else {
            small.fill(0);
        }
        for (x, e) in a.iter_mut().zip(&*small) {
            *x = BY_Q.remainder(*x * UNWIRE + (Q as i32 + i32::from(*e)) as u32);
        }
        self.compress(message, a, fields);
        pack(q2_bits, fields, ciphertext)
    }

    fn decrypt(&self, pke_key: &[u8], ciphertext: &[u8], message: &mut [u8], memory: &mut Polynomials) -> Result<()> {
        self.multiply_by_key(pke_key, ciphertext, memory)?;
        decompress(&memory.fields, self.parameters.q2() as u16, message);
        Ok(())
    }
}

/// Returns the index of the first field above `largest`, if any. All fields must be below 2^15.
fn first_above(fields: &[u16], largest: u32) -> Option<usize> {
    first_nonzero(fields.iter().map(|field| (largest as u16).wrapping_sub(*field) >> 15))
}
