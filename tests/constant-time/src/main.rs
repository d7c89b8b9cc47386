//! All that handles secrets on the CPU, in one program, whose machine code the test reads. Under valgrind it says which
//! bytes are secret, and valgrind complains of branches and addresses that depend on them.

use std::convert::Infallible;
use std::error::Error;
use std::hint::black_box;

use kem::{Decapsulate, Decapsulator, Encapsulate, Generate, KeyExport, TryKeyInit};
use rand_core::{TryCryptoRng, TryRng};
use ringforge::kernels::{Distribution, Rows};
use ringforge::words::Transform;
use ringforge::{Draws, Engine, Limits, Modulus, Ring};
use ringforge_ctru::{Ctru768, DecapsulationKey};
use ringforge_ctru_prime::{CtruPrime761, check_secret_key, decapsulate, encapsulate, generate};
use ringforge_sm2::PrivateKey;

/// Functions with faults, which the test must find.
mod planted {
    #[inline(never)]
    pub(crate) fn divides(secret: u32, q: u32) -> u32 {
        remainder(secret, q) + 1
    }

    #[inline(never)]
    fn remainder(secret: u32, q: u32) -> u32 {
        secret % q.max(1)
    }

    #[inline(never)]
    pub(crate) fn divides_wide(secret: u128, q: u128) -> u128 {
        secret % q.max(1)
    }

    #[inline(never)]
    pub(crate) fn divides_double(secret: f64, q: f64) -> f64 {
        secret / q
    }

    #[inline(never)]
    pub(crate) fn branches(secret: u8) {
        if secret == 1 {
            println!("one");
        }
    }

    /// In a closure that the standard library calls.
    #[inline(never)]
    pub(crate) fn divides_within(secrets: &mut [u32], q: u32) {
        secrets.sort_by_key(|secret| secret % q.max(1));
    }

    #[inline(never)]
    pub(crate) fn divides_somewhere(secret: u32, q: u32, how: fn(u32, u32) -> u32) -> u32 {
        how(secret, q) + 1
    }
}

/// What valgrind is told of bytes.
#[derive(Clone, Copy)]
enum Told {
    /// They count as not initialised, which nothing may depend on.
    Secret = 1,
    Public = 2,
}

/// Tells valgrind, if that is what runs the program: a no-operation for a CPU. As far as the compiler knows, the bytes are
/// others then.
#[inline(never)]
fn tell(bytes: &mut [u8], told: Told) {
    // memcheck's own requests begin with "MC"
    const MEMCHECK: usize = 0x4d43_0000;
    let request = [MEMCHECK + told as usize, bytes.as_mut_ptr() as usize, bytes.len(), 0, 0, 0];
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the rotations are by 128 bits in all, and the exchange is of a register with itself.
    #[allow(unsafe_code)]
    unsafe {
        std::arch::asm!(
            "rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
            in("rax") request.as_ptr(), inout("rdx") 0usize => _, options(nostack),
        );
    }
    black_box(request);
}

/// Bytes that may be looked at from now on.
fn opened<T: AsMut<[u8]>>(mut bytes: T) -> T {
    tell(bytes.as_mut(), Told::Public);
    bytes
}

/// Random bytes as far as this program goes, all of them secret.
struct Bytes(u8);

impl TryRng for Bytes {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes).map(|()| u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes).map(|()| u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for byte in bytes.iter_mut() {
            self.0 = self.0.wrapping_mul(109).wrapping_add(89);
            *byte = self.0;
        }
        tell(bytes, Told::Secret);
        Ok(())
    }
}

impl TryCryptoRng for Bytes {}

/// Elements of this ring, from draws that are secret.
fn sample(ring: &Ring, rng: &mut Bytes) -> Result<(), Box<dyn Error>> {
    let (weight, eta, sigma) = (5, 3, 3.2);
    let small = [Distribution::Ternary, Distribution::Binomial { eta }, Distribution::Gaussian { sigma }];
    for distribution in small.into_iter().chain([Distribution::Uniform, Distribution::FixedWeight { weight }]) {
        let engine = Engine::cpu();
        let p = engine.pipeline("samples");
        p.output("sample", p.sample(ring, distribution, p.input("draws")));
        let program = engine.device().compile(&p.build()?)?;
        let (mut draws, mut sample) = ([0; Draws::BYTES], vec![0; ring.bytes()]);
        rng.try_fill_bytes(&mut draws)?;
        program.on_host(1).input("draws", &draws).output("sample", &mut sample).run()?;
        opened(sample);
    }
    Ok(())
}

/// Digits of secret words.
fn digits(ring: &Ring, rng: &mut Bytes) -> Result<(), Box<dyn Error>> {
    let (engine, digits) = (Engine::cpu(), ring.side_by_side(2 * 9)?);
    let p = engine.pipeline("digits");
    p.output("digits", p.coefficients("a", ring).digits(7, ring));
    let program = engine.device().compile(&p.build()?)?;
    let (mut a, mut digits) = (vec![0; ring.bytes()], vec![0; digits.bytes()]);
    rng.try_fill_bytes(&mut a)?;
    program.on_host(1).input("a", &a).output("digits", &mut digits).run()?;
    opened(digits);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let rng = &mut Bytes(1);

    let key = DecapsulationKey::<Ctru768>::generate_from_rng(rng);
    let key = DecapsulationKey::<Ctru768>::new(&key.to_bytes())?;
    let (ciphertext, sent) = key.encapsulation_key().encapsulate_with_rng(rng);
    assert_eq!(opened(key.decapsulate(&ciphertext)), opened(sent));

    let (public_key, secret_key) = generate::<CtruPrime761>(rng)?;
    assert_eq!(check_secret_key::<CtruPrime761>(&secret_key)?, None);
    let (ciphertext, sent) = encapsulate::<CtruPrime761>(&public_key, rng)?;
    assert_eq!(opened(*decapsulate::<CtruPrime761>(&secret_key, &ciphertext)?), opened(*sent));

    let Ok(key) = PrivateKey::generate(rng);
    let signature = key.sign_digest(&[7; 32]);
    opened(signature.to_bytes());

    let wide = "97,57896044618658097711785492504343953926634992332820282019728792003956564819949 : x^9 + 1";
    for ring in ["2,1152921504606830593 : x^9 + 1", wide] {
        sample(&ring.parse()?, rng)?;
    }
    digits(&"2,1152921504606830593 : x^9 + 1".parse::<Ring>()?.accepting_any_word(), rng)?;

    // rows of every arithmetic have the functions of the other ones beside them
    let transform = Transform::<u32>::of(&Rows::of(&Ring::negacyclic(4, Modulus::new(17u32)?)?, &Limits::cpu())?, 0)?;
    let mut row = [1, 2, 3, 4];
    transform.forward(&mut row)?;
    transform.invert(&mut row)?;

    if std::env::args().any(|argument| argument == "branch") {
        let mut secret = [0];
        rng.try_fill_bytes(&mut secret)?;
        planted::branches(secret[0]);
    }

    black_box(planted::divides(black_box(9), black_box(5)));
    black_box(planted::divides_wide(black_box(9), black_box(5)));
    planted::divides_within(black_box(&mut [9; 99]), black_box(5));
    black_box(planted::divides_double(black_box(9.0), black_box(5.0)));
    black_box(planted::divides_somewhere(black_box(9), black_box(5), black_box(planted::divides)));
    Ok(())
}
