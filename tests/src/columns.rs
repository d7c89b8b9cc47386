//! Transforms of matrices that are stored row by row, against those of each column: all widths, orders and kinds of rings, in one
//! kernel and in several.

use ringforge::split::Split;
use ringforge::tuning::{Choice, Tuning};
use ringforge::{Engine, Error, Form, Job, Limits, Modulus, Op, Order, Planner, PolyType, Result, Ring, U256};
use ringforge_testkit::{Named, NamedPlan, Random, Scheme, naive};

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
pub fn of_columns(from: &PolyType, to: &PolyType, elements: &[u8], each: impl Fn(&[U256]) -> Vec<U256>) -> Vec<u8> {
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
fn inverse(column: &PolyType, order: Order, values: &[U256]) -> Vec<U256> {
    let mut data = naive::to_stored(column, values);
    let job = Job::new(column, Op::Inverse).order(order).in_place();
    let program = Engine::cpu().device().compile(&Planner::default().plan(&job).expect("a plan")).expect("a program");
    program.on_host(1).output("data", &mut data).run().expect("a run");
    naive::to_plain(column, &data)
}

fn forward(column: &PolyType, order: Order, coefficients: &[U256]) -> Vec<U256> {
    naive::forward(column, &Split::of(column, None).expect("a split"), order, coefficients)
}

/// A planner whose transforms in these rings are of so many kernels, but on a CPU.
fn planner(rings: &[&PolyType], kernels: Option<usize>, limits: &Limits) -> Planner {
    let (mut tuning, mut choice) = (Tuning::default(), Choice::default());
    choice.kernels = kernels;
    for job in rings.iter().flat_map(|&ring| [Op::Forward, Op::Inverse].map(|op| Job::new(ring, op))) {
        tuning.choose(&job, choice);
    }
    Planner::new(limits.clone()).tuned(tuning)
}

/// What is done to the columns of a matrix: how many there are, and the values' order.
type Shape = (usize, Order);

fn transform(
    column: &PolyType,
    (columns, order): Shape,
    op: Op,
    kernels: Option<usize>,
    limits: &Limits,
) -> Result<NamedPlan> {
    let ring = column.clone().in_columns(columns)?;
    let in_place = columns % 2 == 1;
    let job = Job::new(&ring, op).order(order);
    let job = if in_place { job.in_place() } else { job };
    let plan = planner(&[&ring], kernels, limits).plan(&job)?;
    assert!(limits.is_cpu() || kernels.is_none_or(|kernels| plan.kernels().len() == kernels), "{plan}");
    let named = NamedPlan::new(format!("{job} {kernels:?}"), plan);
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
fn extension(
    column: &PolyType,
    longer: &PolyType,
    (columns, order): Shape,
    kernels: Option<usize>,
    limits: &Limits,
) -> Result<NamedPlan> {
    let [from, to] = [column, longer].map(|ring| ring.clone().in_columns(columns));
    let (from, to) = (from?, to?);
    let title = format!("extension in {from}, {order} {kernels:?}");
    let p = planner(&[&from, &to], kernels, limits).pipeline(title.clone());
    let extended = p.evaluations("from", &from, Order::Natural).inverse().extend(&to).forward_to(order);
    p.output("to", extended.scale(&[U256::from(5u32)]) + p.evaluations("others", &to, order));
    let (column, longer) = (column.clone(), longer.clone());
    Ok(NamedPlan::new(title, p.build()?).expecting(move |_, inputs: &Named| {
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
        let mut plans = Vec::new();
        for (ring, most) in RINGS {
            let ring: PolyType = ring.parse()?;
            let layers = Split::of(&ring, None)?.depth() as usize;
            // every remainder by 32 where there are as many, or some
            let widths: Vec<usize> = if most > 32 { (1..=most).collect() } else { (2..=most.min(9)).collect() };
            for (i, columns) in widths.into_iter().enumerate() {
                let op = [Op::Forward, Op::Inverse][i % 2];
                let order = [Order::Tree, Order::Natural][i / 2 % 2];
                // in one kernel or in several; a single column is no matrix
                let kernels = Some(1 + random.below(3)).filter(|kernels| columns > 1 && 2 * kernels <= layers);
                plans.push(transform(&ring, (columns, order), op, kernels, limits)?);
            }
        }
        let q = Modulus::new(2_013_265_921u32)?;
        let short = PolyType::from(Ring::cyclic(32, q)?).with_form(Form::Montgomery)?;
        let w = q.root(64).ok_or(Error::NoRoot { q: q.value(), order: 64 })?;
        let long = PolyType::from(Ring::coset(64, q, 31u32, w)?).with_form(Form::Montgomery)?;
        for kernels in [1, 2, 3] {
            for (op, order) in
                [(Op::Forward, Order::Natural), (Op::Inverse, Order::Natural), (Op::Forward, Order::Tree)]
            {
                for (ring, columns) in [(RINGS[4].0, 3), (RINGS[4].0, 32), (RINGS[3].0, 5)] {
                    let kernels = Some(kernels).filter(|kernels| *kernels < 3 || columns != 5);
                    plans.push(transform(&ring.parse()?, (columns, order), op, kernels, limits)?);
                }
            }
            for shape in [(2, Order::Tree), (5, Order::Tree), (5, Order::Natural), (33, Order::Tree)] {
                plans.push(extension(&short, &long, shape, Some(kernels.min(2)), limits)?);
            }
        }
        Ok(plans)
    }
}
