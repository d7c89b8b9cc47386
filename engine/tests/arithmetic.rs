//! Checks the arithmetic of the CUDA headers against big integers, and their PTX functions against portable C++.

use crate::fixtures::arithmetic::wanted::Reference;
use crate::fixtures::arithmetic::{Probe, Which};
use num_bigint::BigUint;
use rayon::prelude::*;
use ringforge::kernels::Arithmetic;
use ringforge::{Device, Modulus, Result, U256};
use ringforge_testkit::{Compiled, Random, Target, emulator, seed};

const P256: &str = "ffffffff00000001000000000000000000000000ffffffffffffffffffffffff";
const SM2: &str = "fffffffeffffffffffffffffffffffffffffffff00000000ffffffffffffffff";
const SECP256K1: &str = "fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f";
const BN254_R: &str = "30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001";
const BLS12_381_R: &str = "73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001";
const BLS12_377_R: &str = "12ab655e9a2ca55660b44d1e5c37b00159aa76fed00000010a11800000000001";
const PALLAS: &str = "40000000000000000000000000000000224698fc094cf91b992d30ed00000001";
const GOLDILOCKS: u64 = 0xffff_ffff_0000_0001;
const BABY_BEAR: u64 = 2_013_265_921;
const KOALA_BEAR: u64 = 2_130_706_433;
const BITS_40: u64 = 1_099_510_054_913;
const BITS_50: u64 = 1_125_899_902_124_033;
const FRIENDLY_60: u64 = 1_152_921_092_289_986_561;
const BITS_60: u64 = 1_152_921_504_606_830_593;

/// The number of random pairs of words of each kind for each modulus.
const RANDOM: usize = 400;

/// A test kernel of one arithmetic (a modulus type or plain words), and the moduli with which it is tested.
struct Run {
    which: Which,
    moduli: Vec<Modulus>,
    as_argument: bool,
}

/// A modulus and the pairs of words with which it is tested.
struct Sample {
    q: Modulus,
    pairs: Vec<(BigUint, BigUint)>,
}

/// Kernels that read the modulus at run time. The first modulus of each list is the largest. It decides up to which
/// multiple of q residues may grow.
fn arguments() -> Result<Vec<Run>> {
    let q = |q: u64| Modulus::new(q);
    let hex = Modulus::from_hex;
    let lists = [
        (Which::Type(Arithmetic::Mod16), vec![below(16, 1)?, below(16, 15)?, q(32_768)?, q(18_920)?]),
        // three products of residues below 2q fit a word
        (Which::Type(Arithmetic::Mod16), vec![q(18_919)?, q(12_289)?, q(3457)?, q(3329)?, q(256)?, q(3)?, q(2)?]),
        (
            Which::Type(Arithmetic::Mod32),
            vec![below(30, 1)?, below(30, 35)?, q(998_244_353)?, q(12_289)?, q(3457)?, q(3329)?, q(3)?],
        ),
        (
            Which::Type(Arithmetic::Mod31),
            vec![
                below(31, 1)?,
                below(31, 19)?,
                q(KOALA_BEAR)?,
                q(BABY_BEAR)?,
                q((1 << 30) + 3)?,
                q(998_244_353)?,
                q(3)?,
            ],
        ),
        // residues may exceed 8q
        (Which::Type(Arithmetic::Mod32), vec![q(469_762_049)?, q(12_289)?, q(3)?]),
        (
            Which::Type(Arithmetic::Mod50),
            vec![below(50, 1)?, below(50, 27)?, q(BITS_50)?, below(49, 81)?, q(998_244_353)?, q(5)?, q(3)?],
        ),
        // residues may exceed 8q, up to the largest bound
        (Which::Type(Arithmetic::Mod50), vec![below(48, 59)?, q(BITS_40)?, q(3329)?, q(3)?]),
        (Which::Type(Arithmetic::Mod50), vec![q(12_289)?, q(3)?]),
        (
            Which::Type(Arithmetic::Mod64),
            vec![below(62, 1)?, below(62, 57)?, below(61, 1)?, q(BITS_60)?, q(998_244_353)?, q(3)?],
        ),
        // residues may grow to bounds between 5q, the smallest for which reduction estimates a quotient, and 64q, the
        // largest
        (Which::Type(Arithmetic::Mod64), vec![q(u64::MAX / 5)?, below(61, 1)?, q(BITS_60)?, q(998_244_353)?, q(3)?]),
        (Which::Type(Arithmetic::Mod64), vec![below(60, 93)?, below(50, 27)?, below(34, 41)?, below(31, 1)?, q(3)?]),
        (
            Which::Type(Arithmetic::Mod64),
            vec![below(58, 27)?, below(50, 27)?, below(34, 41)?, below(31, 1)?, q(3457)?, q(7)?, q(5)?, q(3)?],
        ),
        (Which::Type(Arithmetic::Mod61), vec![below(61, 1)?, q(BITS_60)?, below(60, 93)?, q(998_244_353)?, q(3)?]),
        (Which::Type(Arithmetic::Mod61), vec![below(58, 27)?, below(34, 41)?, below(31, 1)?, q(3457)?, q(3)?]),
        // 2^61 − 2^32 + 1 and 2^60 − 2^32 + 1 are the largest moduli of this form with 61 and 60 bits, prime or not
        (
            Which::Type(Arithmetic::Mod64Friendly),
            vec![
                below(61, (1 << 32) - 1)?,
                below(60, (1 << 32) - 1)?,
                q(FRIENDLY_60)?,
                q((1 << 40) + 1)?,
                q((1 << 32) + 1)?,
            ],
        ),
        (
            Which::Type(Arithmetic::Mod64Friendly),
            vec![below(58, (1 << 32) - 1)?, q((1 << 57) + 1)?, q((3 << 32) + 1)?, q((1 << 32) + 1)?],
        ),
        (
            Which::Type(Arithmetic::Mod64Full),
            vec![below(64, 1)?, below(64, 59)?, q(GOLDILOCKS)?, q(BITS_60)?, q(998_244_353)?, q(3)?],
        ),
        (Which::Type(Arithmetic::Goldilocks), vec![q(GOLDILOCKS)?]),
        (
            Which::Type(Arithmetic::Mod256),
            vec![
                below(256, 1)?,
                below(256, 189)?,
                hex(SECP256K1)?,
                hex(P256)?,
                hex(SM2)?,
                hex(BLS12_381_R)?,
                hex(BN254_R)?,
                q(GOLDILOCKS)?,
                q(3)?,
            ],
        ),
    ];
    let runs = lists.into_iter().map(|(which, moduli)| Run { which, moduli, as_argument: true });
    let shoup256 = shoup256()?.into_iter().map(|q| Run {
        which: Which::Type(Arithmetic::Mod255),
        moduli: vec![q],
        as_argument: true,
    });
    Ok(runs.chain(shoup256).collect())
}

/// Kernels with a compile-time modulus, and the kernel for plain words, which uses no modulus.
fn constants() -> Result<Vec<Run>> {
    let q = |q: u64| Modulus::new(q);
    let hex = Modulus::from_hex;
    let lists = [
        (Which::Words, vec![q(3)?]),
        (Which::Type(Arithmetic::Mod16), vec![q(2)?, q(3457)?, q(32_768)?, below(16, 15)?]),
        (Which::Type(Arithmetic::Mod32), vec![q(3)?, q(998_244_353)?, below(30, 35)?]),
        (Which::Type(Arithmetic::Mod31), vec![q(BABY_BEAR)?, q(KOALA_BEAR)?, below(31, 1)?]),
        (Which::Type(Arithmetic::Mod50), vec![q(BITS_50)?, below(50, 27)?, q(3)?]),
        (Which::Type(Arithmetic::Mod64), vec![q(BITS_60)?, below(61, 1)?, below(62, 57)?]),
        (Which::Type(Arithmetic::Mod61), vec![q(BITS_60)?, below(61, 1)?]),
        (Which::Type(Arithmetic::Mod64Friendly), vec![q(FRIENDLY_60)?, below(61, (1 << 32) - 1)?]),
        (Which::Type(Arithmetic::Mod64Full), vec![q(GOLDILOCKS)?, below(64, 59)?]),
        (Which::Type(Arithmetic::Goldilocks), vec![q(GOLDILOCKS)?]),
        (Which::Type(Arithmetic::Mod256), vec![hex(BLS12_381_R)?, hex(SECP256K1)?, below(256, 189)?]),
        (Which::Type(Arithmetic::Mod255), shoup256()?),
    ];
    let one = |which| move |q| Run { which, moduli: vec![q], as_argument: false };
    Ok(lists.into_iter().flat_map(|(which, moduli)| moduli.into_iter().map(one(which))).collect())
}

/// Moduli for 256-bit Shoup multiplication: the largest modulus allowed, those of several fields, and small ones.
fn shoup256() -> Result<Vec<Modulus>> {
    let hex = Modulus::from_hex;
    let largest = U256::MAX.wrapping_shr_vartime(1).wrapping_sub(&(U256::ONE.wrapping_shl_vartime(230)));
    Ok(vec![
        Modulus::new(largest)?,
        below(254, 1)?,
        below(253, (1 << 40) + 1)?,
        hex(BLS12_381_R)?,
        hex(BN254_R)?,
        hex(BLS12_377_R)?,
        hex(PALLAS)?,
        Modulus::new(GOLDILOCKS)?,
        Modulus::new(3u64)?,
    ])
}

/// The modulus 2^bits − less.
fn below(bits: u32, less: u64) -> Result<Modulus> {
    Modulus::new(U256::MAX.wrapping_shr_vartime(256 - bits).wrapping_sub(&U256::from(less - 1)))
}

fn big(q: &Modulus) -> BigUint {
    BigUint::from_bytes_le(q.value().to_le_bytes().as_ref())
}

impl Sample {
    /// All pairs of edge cases, `RANDOM` random pairs, and `RANDOM` pairs of words next to multiples of q. Words of 256
    /// bits are always valid residues: below 2q for Shoup multiplication, else below q.
    fn new(run: &Run, q: Modulus, random: &mut Random) -> Self {
        let bits = 8 * run.which.word_bytes();
        let value = big(&q);
        let end = match bits {
            256 if run.which.is_shoup256() => &value * 2u32,
            256 => value.clone(),
            _ => BigUint::from(1u32) << bits,
        };
        let edges = edges(&value, run.which.bound(&run.moduli[0]), &end);
        let mut pairs: Vec<_> = edges.iter().flat_map(|x| edges.iter().map(|y| (x.clone(), y.clone()))).collect();
        let mut word = || {
            let limbs = (0..bits / 32).map(|_| limb(random)).collect();
            BigUint::new(limbs) % &end
        };
        pairs.extend((0..RANDOM).map(|_| (word(), word())));
        // on both sides of multiples of q, where the quotient changes
        let most = 2 * run.which.bound(&run.moduli[0]) as usize;
        let mut multiple = || (&value * (1 + random.below(most)) + random.below(3) - 1u32) % &end;
        pairs.extend((0..RANDOM).map(|_| (multiple(), multiple())));
        Self { q, pairs }
    }

    fn run(&self, run: &Run, kernel: &Compiled) -> Result<Vec<u8>> {
        let bytes = run.which.word_bytes();
        let encode = |x: &BigUint| {
            let mut word = x.to_bytes_le();
            word.resize(bytes, 0);
            word
        };
        let inputs = [
            ("q", run.which.fields(&self.q)),
            ("a", self.pairs.iter().flat_map(|(x, _)| encode(x)).collect()),
            ("b", self.pairs.iter().flat_map(|(_, y)| encode(y)).collect()),
        ];
        let mut results = kernel.run(self.pairs.len(), &inputs.map(|(name, bytes)| (name.into(), bytes)).into())?;
        Ok(results.remove("results").unwrap_or_default())
    }

    #[track_caller]
    fn check(&self, run: &Run, found: &[u8]) {
        let bytes = run.which.word_bytes();
        let reference = Reference::new(run.which, &self.q, &run.moduli[0]);
        let (name, q) = (run.which.arithmetic().name(), big(&self.q));
        assert_eq!(found.len(), self.pairs.len() * run.which.outputs() * bytes);
        for ((x, y), found) in self.pairs.iter().zip(found.chunks_exact(run.which.outputs() * bytes)) {
            let wanted = reference.wanted(x, y);
            assert_eq!(wanted.len(), run.which.outputs());
            for (output, (wanted, found)) in wanted.iter().zip(found.chunks_exact(bytes)).enumerate() {
                let found = BigUint::from_bytes_le(found);
                assert!(
                    wanted.accepts(&found),
                    "{name}, q = {q:#x}: output {output} of {x:#x}, {y:#x} is {found:#x}, not {wanted:x?}",
                );
            }
        }
    }
}

/// Words below `end` that are edge cases: next to multiples of q, to powers of two and to `end`.
fn edges(q: &BigUint, bound: u64, end: &BigUint) -> Vec<BigUint> {
    let near = |x: BigUint| [&x + 1u32, x.clone(), if x.bits() == 0 { x } else { x - 1u32 }];
    let multiples = [0, 1, 2, 3, 4, 5, 6, 7, 8, bound - 1, bound, 2 * bound - 1, 2 * bound].map(|k| q * k);
    let powers = [8, 16, 31, 32, 33, 63, 64, 128, 192, 224].map(|bit| BigUint::from(1u32) << bit);
    let mut edges: Vec<_> =
        multiples.into_iter().chain(powers).chain([q >> 1, end >> 1, end.clone()]).flat_map(near).collect();
    edges.retain(|x| x < end);
    edges.sort();
    edges.dedup();
    edges
}

/// A random 32-bit limb; half of the limbs are edge cases.
fn limb(random: &mut Random) -> u32 {
    const EDGES: [u32; 6] = [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe, 0xffff_ffff];
    match random.below(2 * EDGES.len()) {
        edge if edge < EDGES.len() => EDGES[edge],
        _ => random.bits() as u32,
    }
}

impl Run {
    fn compile(&self, device: &Device, portable: bool) -> Result<Compiled> {
        let kind = if self.as_argument { Probe::argument } else { Probe::constant };
        let probe = kind(self.which, self.moduli[0]);
        Compiled::new(&(if portable { probe.portable() } else { probe }).plan()?, device)
    }

    /// The samples of each modulus. They depend only on the seed, so all devices get the same.
    fn samples(&self, seed: u64) -> Vec<Sample> {
        let mut random = Random::new(seed);
        self.moduli.iter().map(|&q| Sample::new(self, q, &mut random)).collect()
    }
}

/// An emulator that runs threads in one fixed order, because the threads of these kernels do not interact. `None` if
/// the emulator is not available.
fn emulator_device(sanitize: bool) -> Option<Device> {
    let target = if sanitize { Target::EmulatorSanitized } else { Target::Emulator };
    target.device()?;
    emulator::device(emulator::Options { sanitize, schedules: vec![0], ..emulator::Options::default() }).ok()
}

fn judge(runs: &[Run], device: &Device) -> Result<()> {
    let seed = seed();
    runs.par_iter().try_for_each(|run| {
        let kernel = run.compile(device, false)?;
        run.samples(seed).par_iter().try_for_each(|sample| {
            sample.check(run, &sample.run(run, &kernel)?);
            Ok(())
        })
    })
}

#[test]
fn emulator_is_right_with_moduli_as_arguments() -> Result<()> {
    let Some(device) = emulator_device(false) else { return Ok(()) };
    judge(&arguments()?, &device)
}

#[test]
fn emulator_is_right_with_constant_moduli() -> Result<()> {
    let Some(device) = emulator_device(false) else { return Ok(()) };
    judge(&constants()?, &device)
}

#[test]
fn emulator_is_right_under_sanitizers() -> Result<()> {
    let Some(device) = emulator_device(true) else { return Ok(()) };
    let mut runs = arguments()?;
    runs.extend(constants()?.into_iter().take(1)); // the kernel for plain words
    judge(&runs, &device)
}

#[test]
fn ptx_and_its_twins_are_the_same_on_cuda() -> Result<()> {
    let (Some(cuda), Some(text)) = (Target::Cuda.device(), emulator_device(false)) else { return Ok(()) };
    let seed = seed();
    let mut runs = arguments()?;
    runs.extend(constants()?);
    runs.par_iter().try_for_each(|run| {
        let kernel = run.compile(&text, false)?;
        let variants = [run.compile(&cuda, false)?, run.compile(&cuda, true)?];
        for sample in run.samples(seed) {
            let expected = sample.run(run, &kernel)?;
            let word = run.which.word_bytes();
            for (variant, compiled) in ["PTX", "portable"].iter().zip(&variants) {
                let found = sample.run(run, compiled)?;
                let wrong = expected.chunks(word).zip(found.chunks(word)).position(|(a, b)| a != b);
                let at = wrong.map(|word| (&sample.pairs[word / run.which.outputs()], word % run.which.outputs()));
                assert_eq!(
                    at,
                    None,
                    "{variant} {}, q = {}, argument: {}",
                    run.which.arithmetic().name(),
                    sample.q,
                    run.as_argument
                );
            }
        }
        Ok(())
    })
}
