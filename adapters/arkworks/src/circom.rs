//! Readers of the files of circom and snarkjs: proving keys (.zkey, Groth16) and witnesses (.wtns).
//!
//! The formats are as ark-circom reads them: a magic word and a version, then sections, each with a number and a length.
//! Nothing is allocated for a length that a file claims but does not have.

use core::fmt;
use core::ops::Range;

use ark_ec::AffineRepr;
use ark_ec::pairing::Pairing;
use ark_ff::{BigInt, PrimeField};
use ark_groth16::VerifyingKey;
use rayon::prelude::*;
use ringforge::Engine;
use ringforge_msm::{Bases, Check, MsmError, SparseMatrix};

use crate::field::EngineField;
use crate::groth16::{Ends, sparse};
use crate::points::{Coordinate, DevicePoint, words};

/// Why a file was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file does not begin as one of its kind.
    #[error("this is not a .{0} file of a known version")]
    Kind(&'static str),
    /// A section is missing, given twice, or longer than the file.
    #[error("section {0} is missing, is there twice, or exceeds the file")]
    Section(u32),
    /// A section does not have the length that follows from the header.
    #[error("section {section} has {got} bytes, but the header implies {expected}")]
    Length {
        /// The section's number.
        section: u32,
        /// The length that the header implies, in bytes.
        expected: usize,
        /// The length of the section, in bytes.
        got: usize,
    },
    /// The header names another protocol, other primes, or sizes that contradict each other.
    #[error("the header does not fit: {0}")]
    Header(&'static str),
    /// A number is not below its bound: a coordinate, a scalar, a row or a column.
    #[error("{what} {index} is out of range")]
    Range {
        /// The kind of number.
        what: &'static str,
        /// Its number, from 0.
        index: usize,
    },
    /// A point of the verifying key is not in its group.
    #[error("a point of the verifying key is not in its group")]
    Point,
}

/// The sections of a file, by number.
struct Sections<'a>(Vec<(u32, &'a [u8])>);

impl<'a> Sections<'a> {
    fn new(bytes: &'a [u8], kind: &'static str, versions: Range<u32>) -> Result<Self, FileError> {
        let mut rest = Bytes(bytes);
        let begins =
            rest.take(4) == Some(kind.as_bytes()) && rest.u32().is_some_and(|version| versions.contains(&version));
        let count = rest.u32().filter(|_| begins).ok_or(FileError::Kind(kind))?;
        let mut sections = Vec::new();
        for _ in 0..count {
            let id = rest.u32().ok_or(FileError::Section(0))?;
            let length = rest.u64().and_then(|length| usize::try_from(length).ok());
            let section = length.and_then(|length| rest.take(length)).ok_or(FileError::Section(id))?;
            sections.push((id, section));
        }
        Ok(Self(sections))
    }

    fn get(&self, id: u32) -> Result<&'a [u8], FileError> {
        let mut all = self.0.iter().filter(|(other, _)| *other == id);
        match (all.next(), all.next()) {
            (Some((_, section)), None) => Ok(section),
            _ => Err(FileError::Section(id)),
        }
    }

    /// A section of `count` elements of this size in bytes, after `head` bytes.
    fn of(&self, id: u32, head: usize, count: usize, size: usize) -> Result<&'a [u8], FileError> {
        let section = self.get(id)?;
        let expected = count.saturating_mul(size).saturating_add(head);
        let fits = section.len() == expected;
        let error = FileError::Length { section: id, expected, got: section.len() };
        section.get(head..).filter(|_| fits).ok_or(error)
    }
}

/// Bytes that are read from the front.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }
}

/// Reads a number of four limbs.
fn number(bytes: &[u8]) -> BigInt<4> {
    let mut limbs = [0; 4];
    limbs.iter_mut().zip(words(bytes)).for_each(|(to, word)| *to = word);
    BigInt(limbs)
}

/// Checks that a header names this prime: its size in bytes, then the prime.
fn is_prime(header: &mut Bytes<'_>, prime: &[u64]) -> bool {
    header.u32() == Some(8 * prime.len() as u32)
        && header.take(8 * prime.len()).is_some_and(|bytes| words(bytes) == prime)
}

/// Returns a point from x ‖ y in Montgomery form, where zeros are infinity, if it is in its group.
fn checked_point<G: DevicePoint>(bytes: &[u8], prime: &[u64]) -> Result<G, FileError> {
    let words = words(bytes);
    if words.chunks(prime.len()).any(|limbs| !limbs.iter().rev().lt(prime.iter().rev())) {
        return Err(FileError::Point);
    }
    let point = if words.iter().all(|word| *word == 0) { G::zero() } else { G::read(&words) };
    point.check().map_err(|_| FileError::Point)?;
    Ok(point)
}

/// A Groth16 proving key of snarkjs, over the curve E, in a file that is in memory. A large file is best mapped there.
/// [`Groth16Device::from_zkey`](crate::Groth16Device::from_zkey) copies it to a device.
pub struct Zkey<'a, E: Pairing> {
    pub(crate) ends: Ends<E>,
    variables: usize,
    points: usize,
    coefficients: &'a [u8],
    /// Bases of A, B in G1, B in G2, L and H.
    queries: [&'a [u8]; 5],
}

impl<'a, E> Zkey<'a, E>
where
    E: Pairing<ScalarField: EngineField, G1Affine: DevicePoint, G2Affine: DevicePoint>,
    <E::G1Affine as AffineRepr>::BaseField: Coordinate,
{
    /// Reads the header and the verifying key, whose points are checked to be in their groups, and finds the sections
    /// of the bases.
    ///
    /// # Errors
    /// [`FileError`] for a file that is damaged, or of another protocol or curve.
    pub fn new(file: &'a [u8]) -> Result<Self, FileError> {
        ringforge_cpu::threads::start();
        let sections = Sections::new(file, "zkey", 1..2)?;
        if Bytes(sections.get(1)?).u32() != Some(1) {
            return Err(FileError::Header("the protocol is not Groth16"));
        }
        let prime = <E::G1Affine as AffineRepr>::BaseField::prime();
        let mut header = Bytes(sections.get(2)?);
        if !is_prime(&mut header, &prime) || !is_prime(&mut header, &E::ScalarField::MODULUS.0) {
            return Err(FileError::Header("the key is over another curve"));
        }
        let mut size = || header.u32().map(|size| size as usize).ok_or(FileError::Header("it ends early"));
        let (variables, public, points) = (size()?, size()?, size()?);
        if public >= variables || !points.is_power_of_two() {
            return Err(FileError::Header("the numbers of variables and points contradict each other"));
        }
        let (g1, g2) = (16 * prime.len(), 32 * prime.len());
        let mut bytes = |size| header.take(size).ok_or(FileError::Header("it ends early"));
        let [alpha, beta, beta_g2, gamma_g2, delta, delta_g2] =
            [bytes(g1)?, bytes(g1)?, bytes(g2)?, bytes(g2)?, bytes(g1)?, bytes(g2)?];
        let inputs = sections.of(3, 0, public + 1, g1)?;
        let of = |id, count, size| sections.of(id, 0, count, size);
        let queries = [
            of(5, variables, g1)?,
            of(6, variables, g1)?,
            of(7, variables, g2)?,
            of(8, variables - public - 1, g1)?,
            of(9, points, g1)?,
        ];
        let count = Bytes(sections.get(4)?).u32().ok_or(FileError::Section(4))?;
        let vk = VerifyingKey {
            alpha_g1: checked_point(alpha, &prime)?,
            beta_g2: checked_point(beta_g2, &prime)?,
            gamma_g2: checked_point(gamma_g2, &prime)?,
            delta_g2: checked_point(delta_g2, &prime)?,
            gamma_abc_g1: inputs.par_chunks(g1).map(|point| checked_point(point, &prime)).collect::<Result<_, _>>()?,
        };
        let (beta_g1, delta_g1) = (checked_point(beta, &prime)?, checked_point(delta, &prime)?);
        Ok(Self {
            ends: Ends { vk, beta_g1, delta_g1 },
            variables,
            points,
            coefficients: sections.of(4, 4, count as usize, COEFFICIENT)?,
            queries,
        })
    }

    /// The verifying key.
    #[must_use]
    pub fn verifying_key(&self) -> &VerifyingKey<E> {
        &self.ends.vk
    }

    /// The number of variables, with the constant 1: elements of a witness.
    #[must_use]
    pub fn variables(&self) -> usize {
        self.variables
    }

    /// The number of points of the domain.
    #[must_use]
    pub fn points(&self) -> usize {
        self.points
    }

    /// The matrices a and b, with the rows of the public variables.
    pub(crate) fn matrices(&self) -> Result<Vec<SparseMatrix>, FileError> {
        type Entry<F> = (usize, (F, usize));
        ringforge_cpu::threads::start();
        let mut entries: [Vec<Entry<E::ScalarField>>; 2] = Default::default();
        for (index, bytes) in self.coefficients.chunks_exact(COEFFICIENT).enumerate() {
            let mut bytes = Bytes(bytes);
            let mut size = || bytes.u32().unwrap_or(u32::MAX) as usize;
            let (matrix, row, column) = (size(), size(), size());
            let value = number(bytes.0);
            if matrix >= 2 || row >= self.points || column >= self.variables || value >= E::ScalarField::MODULUS {
                return Err(FileError::Range { what: "coefficient", index });
            }
            // the file has the value times 2^512
            let value = E::ScalarField::from_limbs(E::ScalarField::from_limbs(value.0).into_bigint().0);
            entries[matrix].push((row, (value, column)));
        }
        let matrices = entries.into_iter().map(|mut entries| {
            entries.par_sort_by_key(|(row, _)| *row);
            let (rows, terms): (Vec<usize>, Vec<_>) = entries.into_iter().unzip();
            let last = rows.last().map_or(0, |row| row + 1);
            let mut end = 0;
            let rows = (0..last).map(|row| {
                let begin = end;
                end += rows[begin..].iter().take_while(|other| **other == row).count();
                &terms[begin..end]
            });
            sparse(rows, self.variables, self.points)
        });
        let too_large = FileError::Header("the matrices are too large");
        matrices.collect::<Result<_, _>>().map_err(|_| too_large)
    }

    /// Copies a range of bases to a device, with `before` points at infinity first.
    pub(crate) fn upload<G: DevicePoint>(
        &self,
        engine: &Engine,
        query: usize,
        range: Range<usize>,
        before: usize,
        check: Check,
    ) -> Result<Bases, MsmError> {
        let (curve, bytes) = (G::curve()?, self.queries[query]);
        let size = curve.point_bytes();
        let mut points = vec![0; size * range.len()];
        ringforge_cpu::threads::start();
        points.par_chunks_mut(size).zip(range).for_each(|(to, i)| {
            let from = i.checked_sub(before).and_then(|i| bytes.get(i * size..(i + 1) * size));
            match from.filter(|from| from.iter().any(|byte| *byte != 0)) {
                Some(from) => to.copy_from_slice(from),
                // infinity has all bits set here, and none in the file
                None => to.fill(0xff),
            }
        });
        Ok(Bases::upload(engine, &curve, &points, check)?.in_subgroup())
    }
}

impl<E: Pairing> fmt::Debug for Zkey<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Zkey({} variables, {} points)", self.variables, self.points)
    }
}

/// Size in bytes of a coefficient of a matrix: the matrix, the row, the column and the value.
const COEFFICIENT: usize = 4 + 4 + 4 + 32;

/// Reads a witness of circom: the constant 1, the public variables, and the private ones.
///
/// # Errors
/// [`FileError`] for a file that is damaged or of another field.
pub fn read_wtns<F: EngineField>(file: &[u8]) -> Result<Vec<F>, FileError> {
    ringforge_cpu::threads::start();
    let sections = Sections::new(file, "wtns", 1..3)?;
    let mut header = Bytes(sections.get(1)?);
    if !is_prime(&mut header, &F::MODULUS.0) {
        return Err(FileError::Header("the witness is of another field"));
    }
    let count = header.u32().ok_or(FileError::Header("it ends early"))?;
    let values = sections.of(2, 0, count as usize, size_of::<[u64; 4]>())?;
    let value = |(index, bytes)| F::from_bigint(number(bytes)).ok_or(FileError::Range { what: "element", index });
    values.par_chunks(size_of::<[u64; 4]>()).enumerate().map(value).collect()
}
