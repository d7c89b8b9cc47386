//! Transforms of matrices that are stored row by row, against those of each column: all widths, orders and kinds of rings, in one
//! kernel and in several.

use ringforge::split::Split;
use ringforge::testkit::{Named, NamedPlan, Random, Scheme, naive};
use ringforge::{Engine, Error, Form, Job, Limits, Modulus, Op, Order, Pipeline, Planner, Result, Ring, U256};

/// Rings of a column, with their most columns here: leaves of degree 1 and beyond, layers of two, three and six, words of all sizes.
const RINGS: [(&str, usize); 9] = [
    ("97 : x^16 + 1", 40),
    ("3329 : x^512 + 1", 3),
    ("3457 : x^96 - x^48 + 1", 5),
    ("97,193 : x^16 + 1", 7),
    ("2013265921 : x^64 - 1 : montgomery", 40),
    ("18446744069414584321 : x^32 - 1 : any word", 35),
    ("1152921504606830593 : x^64 + 1", 9),
    ("0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001 : x^32 - 1", 5),
    ("17 : x - 3", 6),
];

/// What columns of elements become, each by itself: of as many rows as `to` has of them.
///
/// # Panics
/// If `each` makes something else of a column than an element of the ring of one.
pub fn of_columns(from: &Ring, to: &Ring, elements: &[u8], each: impl Fn(&[U256]) -> Vec<U256>) -> Vec<u8> {
    let (columns, residues) = (from.columns(), naive::to_plain(from, elements));
    let of_item = from.basis().len() * from.degree();
    let mut all = vec![U256::ZERO; residues.len() / from.degree() * to.degree()];
    let items = all.chunks_exact_mut(to.basis().len() * to.degree());
    for (item, to) in residues.chunks_exact(of_item).zip(items) {
        for column in 0..columns {
            let own: Vec<U256> = item[column..].iter().step_by(columns).copied().collect();
            let made = each(&own);
            assert_eq!(made.len() * columns, to.len());
            to[column..].iter_mut().step_by(columns).zip(made).for_each(|(to, x)| *to = x);
        }
    }
    naive::to_stored(to, &all)
}

/// Coefficients of a column with these values, by the plan of a column on the CPU, which other tests hold to what is slow and obvious.
fn inverse(column: &Ring, order: Order, values: &[U256]) -> Vec<U256> {
    let mut data = naive::to_stored(column, values);
    let job = Job::new(column, Op::Inverse).order(order).in_place();
    let program = Engine::cpu().device().compile(&Planner::default().plan(&job).expect("a plan")).expect("a program");
    program.on_host(1).output("data", &mut data).run().expect("a run");
    naive::to_plain(column, &data)
}

fn forward(column: &Ring, order: Order, coefficients: &[U256]) -> Vec<U256> {
    naive::forward(column, &Split::of(column, None).expect("a split"), order, coefficients)
}

fn transform(
    column: &Ring,
    columns: usize,
    op: Op,
    order: Order,
    in_place: bool,
    limits: &Limits,
) -> Result<NamedPlan> {
    let ring = column.clone().in_columns(columns)?;
    let job = Job::new(&ring, op).order(order);
    let named = NamedPlan::of_job(&if in_place { job.in_place() } else { job }, limits)?;
    let column = column.clone();
    let [input, output] = if in_place { ["data"; 2] } else { ["from", "to"] };
    Ok(named.expecting(move |_, inputs| {
        let each = |own: &[U256]| match op {
            Op::Forward => forward(&column, order, own),
            _ => inverse(&column, order, own),
        };
        vec![(output, of_columns(&ring, &ring, &inputs[input], each))]
    }))
}

/// From values in natural order to twice as many, times 5 and added to others, which fuses to the last kernel.
fn extension(column: &Ring, longer: &Ring, columns: usize, order: Order, limits: &Limits) -> Result<NamedPlan> {
    let [from, to] = [column, longer].map(|ring| ring.clone().in_columns(columns));
    let [from, to] = [from?, to?];
    let p = Pipeline::new(format!("extension in {from}, {order}"), &Planner::new(limits.clone()));
    let extended = p.evaluations("from", &from, Order::Natural).inverse().extend(&to).forward_to(order);
    p.output("to", extended.scale(&[U256::from(5u32)]) + p.evaluations("others", &to, order));
    let (column, longer) = (column.clone(), longer.clone());
    Ok(NamedPlan::new(format!("extension in {from}, {order}"), p.build()?).expecting(move |_, inputs: &Named| {
        let extended = of_columns(&from, &to, &inputs["from"], |own| {
            let mut coefficients = inverse(&column, Order::Natural, own);
            coefficients.resize(longer.degree(), U256::ZERO);
            forward(&longer, order, &coefficients)
        });
        let [extended, others] = [&extended, &inputs["others"]].map(|bytes| naive::to_plain(&to, bytes));
        let times = naive::scale(&to, &extended, &[U256::from(5u32)]);
        vec![("to", naive::to_stored(&to, &naive::add(&to, &times, &others)))]
    }))
}

/// Matrices in rings of every kind.
#[derive(Debug)]
pub struct Columns;

impl Scheme for Columns {
    const NAME: &'static str = "columns";

    fn plans(limits: &Limits) -> Result<Vec<NamedPlan>> {
        let mut random = Random::new(1);
        let mut tiny = Limits::of_capability(90);
        (tiny.block_threads, tiny.block_shared_bytes) = (Some(8), 2 << 10);
        let mut plans = Vec::new();
        for (ring, most) in RINGS {
            let ring: Ring = ring.parse()?;
            // every remainder by 32 where there are as many, or some
            let widths: Vec<usize> = if most > 32 { (1..=most).collect() } else { vec![2, 3, most] };
            for (i, columns) in widths.into_iter().enumerate() {
                let (op, order) = [Op::Forward, Op::Inverse].map(|op| (op, [Order::Tree, Order::Natural]))[i % 2];
                let limits = if limits.is_cpu() || random.below(2) == 0 { limits } else { &tiny };
                plans.push(transform(&ring, columns, op, order[i / 2 % 2], random.below(2) == 0, limits)?);
            }
        }
        // all of few columns, in one kernel and in several
        for limits in [limits, &tiny] {
            for (op, order) in
                [(Op::Forward, Order::Natural), (Op::Inverse, Order::Natural), (Op::Forward, Order::Tree)]
            {
                for (ring, columns) in [(RINGS[4].0, 3), (RINGS[4].0, 32), (RINGS[2].0, 2), (RINGS[3].0, 5)] {
                    plans.push(transform(&ring.parse()?, columns, op, order, false, limits)?);
                }
            }
            let q = Modulus::new(2_013_265_921u32)?;
            let short = Ring::cyclic(32, q)?.with_form(Form::Montgomery)?;
            let w = q.root(64).ok_or(Error::NoRoot { q: q.value(), order: 64 })?;
            let long = Ring::coset(64, q, 31u32, w)?.with_form(Form::Montgomery)?;
            for (columns, order) in [(2, Order::Tree), (5, Order::Tree), (5, Order::Natural), (33, Order::Tree)] {
                plans.push(extension(&short, &long, columns, order, limits)?);
            }
        }
        Ok(plans)
    }
}
