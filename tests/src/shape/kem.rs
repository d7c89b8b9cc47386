//! A fused KEM-like kernel: hash, sample, transform, multiply by one key that all items share, transform back, pack.

use core::ops::Range;

use ringforge::kernels::{Args, Kernel, Port, Rows, Source, Table};
use ringforge::testkit::NamedPlan;
use ringforge::{Content, Device, Job, Limits, Modulus, Op, Order, Pipeline, Planner, Result, Ring};
use shake::{ExtendableOutput, Shake256, Update, XofReader};

use super::slow::Tree;
use super::{broken, halves};
use crate::run;

const Q: u64 = 3457;
const N: usize = 768;
/// Bytes of a packed result.
const PACKED: usize = N * 12 / 8;

/// Seeds in, key in (values, shared), packed products out.
#[derive(Debug, Clone)]
pub struct Kem {
    rows: Rows,
    ports: [Port; 4],
}

impl Kem {
    /// The kernel, for a device with these limits.
    ///
    /// # Errors
    /// What makes the ring fail.
    pub fn new(limits: &Limits) -> Result<Self> {
        let ring = Ring::trinomial(N, Modulus::new(Q)?)?;
        let rows = Rows::of(&ring, limits)?.holding(2).extra_shared(2 * N);
        let key = Port::shared(rows.item_bytes());
        let ports = [Port::input(32).secret(), key, Port::output(PACKED), rows.table_port()];
        Ok(Self { rows, ports })
    }
}

impl Kernel for Kem {
    fn name(&self) -> &'static str {
        "kem"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    #[allow(unsafe_code)]
    fn source(&self, limits: &Limits) -> Result<Source> {
        let built = self.rows.build(limits, &format!("struct Task {{ static constexpr rf::u32 q = {Q}; }};\n"))?;
        // SAFETY: kem.cu works on rows by `Row`, whose block `Rows` made, and packs them to its own item.
        Ok(unsafe { Source::new(self, include_str!("kem.cu"), &[], built) })
    }

    fn table(&self, port: usize) -> Option<Table> {
        (port == 3).then(|| self.rows.table())
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        let tree = Tree::new(self.rows.split(), 0).ok_or_else(|| broken("kem", "its modulus is too large"))?;
        let key: Vec<u64> = args.input::<u16>(1)?.iter().map(|&x| x.into()).collect();
        let base = self.rows.split().base();
        let constants: Vec<Vec<u64>> = (0..N / base).map(|leaf| self.leaf(leaf, &key)).collect();
        args.each(items, |_, (seed, _, out): (&[u8], &[u16], &mut [u8])| {
            let mut x = sample(seed);
            tree.forward(&mut x);
            for (values, rows) in x.chunks_exact_mut(base).zip(&constants) {
                let product = |k: usize| (0..base).map(|i| values[i] * rows[k * base + i]).sum::<u64>() % Q;
                let product: Vec<u64> = (0..base).map(product).collect();
                values.copy_from_slice(&product);
            }
            tree.inverse(&mut x);
            pack(&x, out);
            Ok(())
        })
    }

    fn describe(&self) -> String {
        format!("split {}", self.rows.split())
    }
}

impl Kem {
    /// The matrix of the product with the key's residue modulo a leaf x^d − β.
    fn leaf(&self, leaf: usize, key: &[u64]) -> Vec<u64> {
        let base = self.rows.split().base();
        let constant = self.rows.split().leaf_constant(0, leaf).unwrap_or_default().to_le_bytes();
        let beta = halves(&constant.as_ref()[..2])[0];
        let key = &key[leaf * base..];
        let entry = |k: usize, i: usize| if i <= k { key[k - i] } else { key[k + base - i] * beta % Q };
        (0..base).flat_map(|k| (0..base).map(move |i| entry(k, i))).collect()
    }
}

/// Four bits of SHAKE256 a coefficient: two counted up, two down.
fn sample(seed: &[u8]) -> Vec<u64> {
    let mut hash = Shake256::default();
    hash.update(seed);
    let mut stream = [0; N / 2];
    hash.finalize_xof().read(&mut stream);
    let nibbles = stream.iter().flat_map(|byte| [byte & 15, byte >> 4]);
    nibbles.map(|bits| (Q + u64::from((bits & 3).count_ones()) - u64::from((bits >> 2).count_ones())) % Q).collect()
}

fn pack(x: &[u64], out: &mut [u8]) {
    for (pair, bytes) in x.chunks_exact(2).zip(out.chunks_exact_mut(3)) {
        bytes.copy_from_slice(&(pair[0] | pair[1] << 12).to_le_bytes()[..3]);
    }
}

/// The plan, with an oracle that multiplies coefficients.
///
/// # Errors
/// What makes the plan fail.
pub fn plan(limits: &Limits) -> Result<NamedPlan> {
    let kernel = Kem::new(limits)?;
    let (ring, split) = (kernel.rows.ring().clone(), kernel.rows.split().clone());
    let values = Content::Evaluations { ring: ring.clone(), depth: split.depth(), order: Order::Tree };
    let p = Pipeline::new("kem", &Planner::new(limits.clone()));
    let key = p.shared("key", ring.bytes()).holding(values);
    let [packed] = p.step(kernel, &[p.input("seeds"), key]);
    p.output("packed", packed);
    Ok(NamedPlan::new("kem", p.build()?).expecting(move |_, inputs| {
        let key = halves(&run(&Device::cpu(), &Job::new(&ring, Op::Inverse), 1, &[&inputs["key"]]));
        let product = |seed: &[u8]| {
            let mut out = vec![0; PACKED];
            pack(&schoolbook(&sample(seed), &key), &mut out);
            out
        };
        vec![("packed", inputs["seeds"].chunks_exact(32).flat_map(product).collect())]
    }))
}

/// a b mod x^n − x^(n/2) + 1.
fn schoolbook(a: &[u64], b: &[u64]) -> Vec<u64> {
    let mut product = vec![0; 2 * N - 1];
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate() {
            product[i + j] += x * y;
        }
    }
    for k in (N..2 * N - 1).rev() {
        let top = product[k] % Q;
        product[k - N / 2] += top;
        product[k - N] += Q - top;
    }
    product.truncate(N);
    product.iter().map(|x| x % Q).collect()
}
