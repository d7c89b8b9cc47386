//! Transforms on cosets in five fields: values at g·w^i for any g and any root w, scaled inverses, whole and shared out.

use ringforge::{Job, Limits, Modulus, Op, Order, PolyType, Result, Ring, U256};
use ringforge_testkit::naive;
use ringforge_testkit::{NamedPlan, Random, Scheme};

/// The scalar fields of BLS12-381, BN254, BLS12-377, Pallas and Vesta.
pub const FIELDS: [&str; 5] = [
    "73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001",
    "30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001",
    "12ab655e9a2ca55660b44d1e5c37b00159aa76fed00000010a11800000000001",
    "40000000000000000000000000000000224698fc0994a8dd8c46eb2100000001",
    "40000000000000000000000000000000224698fc094cf91b992d30ed00000001",
];

/// A coset g·⟨w⟩ of n points.
#[derive(Debug, Clone)]
pub struct Coset {
    q: Modulus,
    n: usize,
    g: U256,
    w: U256,
}

impl Coset {
    /// One modulo q whose root is not the default one if there is another, by random choice.
    ///
    /// # Errors
    /// [`ringforge::Error::NoRoot`].
    pub fn random(q: Modulus, n: usize, random: &mut Random) -> Result<Self> {
        let order = n as u64;
        let root = q.root(order).ok_or(ringforge::Error::NoRoot { q: q.value(), order })?;
        // odd powers have the same order where n is a power of two
        let odd = U256::from(2 * random.below(n) as u64 + 1);
        let g = q.add(&random.residue(&q), &U256::ONE);
        let g = if g == U256::ZERO { U256::ONE } else { g };
        Ok(Self { q, n, g, w: q.pow(&root, &odd) })
    }

    /// The ring whose values are those on the coset.
    ///
    /// # Errors
    /// As [`Ring::coset`].
    pub fn ring(&self) -> Result<PolyType> {
        Ring::coset(self.n, self.q, self.g, self.w).map(PolyType::from)
    }

    /// x_i·w^(±i·j) summed up, for each j.
    fn sums(&self, w: &U256, x: &[U256]) -> Vec<U256> {
        let q = &self.q;
        let at = |j: usize| {
            let point = q.pow(w, &U256::from(j as u64));
            x.iter().rev().fold(U256::ZERO, |sum, x| q.add(&q.mul(&sum, &point), x))
        };
        (0..self.n).map(at).collect()
    }

    /// a(g·w^i) for each i.
    fn forward(&self, a: &[U256]) -> Vec<U256> {
        let weighed: Vec<U256> = self.weighed(&self.g, U256::ONE, a);
        self.sums(&self.w, &weighed)
    }

    /// The coefficients with these values, times k: k/n g^-j Σ values_i w^(-ij).
    fn inverse(&self, values: &[U256], k: &U256) -> Vec<U256> {
        let q = &self.q;
        let [w, g, n] = [self.w, self.g, U256::from(self.n as u64)].map(|x| q.inverse(&x).unwrap_or(U256::ZERO));
        self.weighed(&g, q.mul(&n, &q.reduce(k)), &self.sums(&w, values))
    }

    /// first·ratio^i·x_i for each i.
    fn weighed(&self, ratio: &U256, first: U256, x: &[U256]) -> Vec<U256> {
        let powers = std::iter::successors(Some(first), |power| Some(self.q.mul(power, ratio)));
        x.iter().zip(powers).map(|(x, power)| self.q.mul(x, &power)).collect()
    }

    /// A transform in natural order, and what it should give by definition.
    fn plan(&self, op: Op, scale: Option<U256>, in_place: bool, limits: &Limits) -> Result<NamedPlan> {
        let ring = self.ring()?;
        let mut job = Job::new(&ring, op).order(Order::Natural);
        job.scale = scale;
        job.in_place = in_place;
        let named = NamedPlan::of_job(&job, limits)?;
        let (coset, k) = (self.clone(), scale.unwrap_or(U256::ONE));
        let [input, output] = if in_place { ["data"; 2] } else { ["from", "to"] };
        Ok(named.expecting(move |_, inputs| {
            let items = naive::to_plain(&ring, &inputs[input]);
            let transformed = items.chunks_exact(coset.n).flat_map(|item| match op {
                Op::Forward => coset.forward(item),
                _ => coset.inverse(item, &k),
            });
            vec![(output, naive::to_stored(&ring, &transformed.collect::<Vec<U256>>()))]
        }))
    }
}

/// Transforms on cosets, in one kernel and in several.
#[derive(Debug)]
pub struct Cosets;

impl Scheme for Cosets {
    const NAME: &'static str = "cosets";

    fn plans(limits: &Limits) -> Result<Vec<NamedPlan>> {
        let mut random = Random::new(1);
        let mut tiny = Limits::of_capability(90);
        (tiny.block_threads, tiny.block_shared_bytes) = (Some(8), 2 << 10);
        let mut plans = Vec::new();
        for field in FIELDS {
            let q = Modulus::from_hex(field)?;
            let minus_one = Some(q.neg(&U256::ONE));
            for (n, limits, kernels) in [(1, limits, 1), (16, limits, 1), (64, &tiny, 2)] {
                let coset = Coset::random(q, n, &mut random)?;
                let some = Some(random.residue(&q));
                let of_size = [
                    coset.plan(Op::Forward, None, true, limits)?,
                    coset.plan(Op::Inverse, None, false, limits)?,
                    coset.plan(Op::Inverse, some, true, limits)?,
                    coset.plan(Op::Inverse, minus_one, false, limits)?,
                ];
                assert!(of_size.iter().all(|named| named.plan.kernels().len() == kernels), "{of_size:?}");
                plans.extend(of_size);
            }
        }
        // words of other sizes
        for q in [12289u64, 998_244_353, 0xffff_ffff_0000_0001] {
            let coset = Coset::random(Modulus::new(q)?, 32, &mut random)?;
            plans.push(coset.plan(Op::Forward, None, false, limits)?);
            plans.push(coset.plan(Op::Inverse, Some(U256::MAX), true, limits)?);
        }
        Ok(plans)
    }
}
