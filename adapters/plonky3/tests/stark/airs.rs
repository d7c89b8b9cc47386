//! AIRs for tests of the prover.

use std::borrow::Cow;
use std::sync::Arc;

use p3_air::{Air, AirBuilder, BaseAir, ExtensionBuilder, WindowAccess};
use p3_field::{Field, PrimeCharacteristicRing};
use p3_lookup::{Count, InteractionBuilder};
use p3_matrix::dense::RowMajorMatrix;
use ringforge_testkit::Random;

/// An AIR of products and sums of columns with selectors of every kind, of this degree. Its constraints need not hold: a
/// proof of any trace is defined.
pub(crate) struct Mixed {
    pub(crate) width: usize,
    pub(crate) degree: usize,
    pub(crate) next: bool,
    /// log2 of the periods of the periodic columns.
    pub(crate) periods: &'static [usize],
}

impl<F: PrimeCharacteristicRing + Sync> BaseAir<F> for Mixed {
    fn width(&self) -> usize {
        self.width
    }

    fn num_public_values(&self) -> usize {
        2
    }

    fn num_periodic_columns(&self) -> usize {
        self.periods.len()
    }

    fn periodic_columns(&self) -> Cow<'_, [Vec<F>]> {
        columns_of(self.periods)
    }

    fn main_next_row_columns(&self) -> Vec<usize> {
        if self.next { (0..self.width).collect() } else { vec![] }
    }
}

/// An AIR that reads the next row, and tells that it does not. No verifier accepts its proofs.
pub(crate) struct Hiding(pub(crate) Mixed);

impl<F: PrimeCharacteristicRing + Sync> BaseAir<F> for Hiding {
    fn width(&self) -> usize {
        self.0.width
    }

    fn num_public_values(&self) -> usize {
        2
    }

    fn main_next_row_columns(&self) -> Vec<usize> {
        vec![]
    }
}

impl<AB: AirBuilder<F: Sync>> Air<AB> for Hiding {
    fn eval(&self, builder: &mut AB) {
        self.0.eval(builder);
    }
}

impl<AB: AirBuilder> Air<AB> for Mixed {
    fn eval(&self, builder: &mut AB) {
        if self.degree == 0 {
            return;
        }
        let main = builder.main();
        let [a, b] = [0, 1].map(|i| builder.public_values()[i]);
        let (local, next): (&[AB::Var], &[AB::Var]) = (main.current_slice(), main.next_slice());
        for i in 0..self.width {
            let x = local[i];
            let y = local[(i + 1) % self.width];
            let power = (1..self.degree).fold(AB::Expr::from(x), |power, _| power * y);
            builder.assert_zero(power.clone() - x);
            builder.when_first_row().assert_eq(x, a);
            builder.when_last_row().assert_eq(y, b);
            if self.next {
                builder.when_transition().assert_eq(next[i], x + y * AB::Expr::from_u64(i as u64 + 5));
            }
            if let Some(periodic) = builder.periodic_values().get(i) {
                let product = (*periodic).into() * x;
                builder.assert_zero(product - y);
            }
            // the same constraint again, a bare column, and a constant
            builder.assert_zero(power - x);
            builder.assert_zero(x);
            builder.assert_zero(AB::Expr::from_u64(3));
        }
    }
}

/// A constraint that is a sum of 50,000 terms, one in the other.
pub(crate) struct Deep;

impl<F> BaseAir<F> for Deep {
    fn width(&self) -> usize {
        2
    }
}

impl<AB: AirBuilder> Air<AB> for Deep {
    fn eval(&self, builder: &mut AB) {
        let main = builder.main();
        let (x, y) = (main.current_slice()[0], main.current_slice()[1]);
        let sum = (0..50_000).fold(AB::Expr::from(x), |sum, _| sum + y);
        builder.assert_zero(sum);
    }
}

/// An expression of a row.
#[derive(Clone)]
pub(crate) enum Expression {
    Local(usize),
    Next(usize),
    Public(usize),
    Periodic(usize),
    /// A preprocessed column, and whether it is that of the next row.
    Preprocessed(usize, bool),
    First,
    Last,
    Transition,
    Constant(u64),
    Add(Box<[Self; 2]>),
    Sub(Box<[Self; 2]>),
    Mul(Box<[Self; 2]>),
    Neg(Box<Self>),
}

/// An AIR with random constraints. They need not hold.
pub(crate) struct AnyAir {
    pub(crate) width: usize,
    pub(crate) publics: usize,
    periods: Vec<usize>,
    /// The number of preprocessed columns, and their rows.
    preprocessed: (usize, usize),
    next: bool,
    pub(crate) constraints: Vec<Constraint>,
}

/// An expression that must be zero. With a second one, it is over the extension.
pub(crate) struct Constraint(Expression, Option<Expression>);

impl Expression {
    /// A random expression of at most this degree and depth.
    fn random(random: &mut Random, of: &AnyAir, degree: usize, depth: usize) -> Self {
        let pair = |random: &mut Random, degrees: [usize; 2]| {
            Box::new(degrees.map(|degree| Self::random(random, of, degree, depth - 1)))
        };
        match (depth, random.below(8)) {
            (1.., 0..2) => Self::Add(pair(random, [degree; 2])),
            (1.., 2..4) => Self::Sub(pair(random, [degree; 2])),
            (1.., 4..6) if degree > 1 => {
                let first = 1 + random.below(degree - 1);
                Self::Mul(pair(random, [first, degree - first]))
            }
            (1.., 6) => Self::Neg(Box::new(Self::random(random, of, degree, depth - 1))),
            _ => match random.below(10) {
                0 if of.publics > 0 => Self::Public(random.below(of.publics)),
                1 if !of.periods.is_empty() => Self::Periodic(random.below(of.periods.len())),
                8 if of.preprocessed.0 > 0 => {
                    Self::Preprocessed(random.below(of.preprocessed.0), of.next && random.below(2) > 0)
                }
                2 => Self::First,
                3 => Self::Last,
                4 => Self::Transition,
                // constants that are simplified, and others
                5 => Self::Constant([0, 1, 2, u64::MAX, random.bits()][random.below(5)]),
                6..8 if of.next => Self::Next(random.below(of.width)),
                _ => Self::Local(random.below(of.width)),
            },
        }
    }

    fn eval<AB: AirBuilder>(&self, builder: &AB) -> AB::Expr {
        let main = builder.main();
        let both = |pair: &[Self; 2]| pair.each_ref().map(|x| x.eval(builder));
        match self {
            Self::Local(column) => main.current_slice()[*column].into(),
            Self::Next(column) => main.next_slice()[*column].into(),
            Self::Public(index) => builder.public_values()[*index].into(),
            Self::Periodic(column) => builder.periodic_values()[*column].into(),
            Self::Preprocessed(column, false) => builder.preprocessed().current_slice()[*column].into(),
            Self::Preprocessed(column, true) => builder.preprocessed().next_slice()[*column].into(),
            Self::First => builder.is_first_row(),
            Self::Last => builder.is_last_row(),
            Self::Transition => builder.is_transition_window(2),
            Self::Constant(u64::MAX) => AB::Expr::NEG_ONE,
            Self::Constant(x) => AB::Expr::from_u64(*x),
            Self::Add(pair) => both(pair).into_iter().sum(),
            Self::Mul(pair) => both(pair).into_iter().product(),
            Self::Sub(pair) => {
                let [x, y] = both(pair);
                x - y
            }
            Self::Neg(x) => -x.eval(builder),
        }
    }
}

impl AnyAir {
    /// Constraints of at most this degree, for traces of 2^log_n rows.
    pub(crate) fn random(random: &mut Random, degree: usize, log_n: usize) -> Self {
        let periods = (0..random.below(3)).map(|_| random.below(log_n + 1)).collect();
        let (width, publics, next) = (1 + random.below(12), random.below(3), random.below(4) > 0);
        let preprocessed = (random.below(4), 1 << log_n);
        let mut air = Self { width, publics, periods, preprocessed, next, constraints: Vec::new() };
        let constraints = (0..random.below(20)).map(|_| {
            let mut expression = || {
                let (degree, depth) = (1 + random.below(degree), random.below(7));
                Expression::random(random, &air, degree, depth)
            };
            let first = expression();
            let is_extended = random.below(4) == 0;
            let mut expression = || Expression::random(random, &air, degree, 3);
            Constraint(first, is_extended.then(&mut expression))
        });
        air.constraints = constraints.collect();
        air
    }
}

impl<F: PrimeCharacteristicRing + Send + Sync> BaseAir<F> for AnyAir {
    fn width(&self) -> usize {
        self.width
    }

    fn num_public_values(&self) -> usize {
        self.publics
    }

    fn num_periodic_columns(&self) -> usize {
        self.periods.len()
    }

    fn periodic_columns(&self) -> Cow<'_, [Vec<F>]> {
        columns_of(&self.periods)
    }

    fn main_next_row_columns(&self) -> Vec<usize> {
        if self.next { (0..self.width).collect() } else { vec![] }
    }

    fn preprocessed_width(&self) -> usize {
        self.preprocessed.0
    }

    fn preprocessed_trace(&self) -> Option<RowMajorMatrix<F>> {
        let (columns, rows) = self.preprocessed;
        let values = (0..rows * columns).map(|i| F::from_usize(i * i + 3)).collect();
        (columns > 0).then(|| RowMajorMatrix::new(values, columns))
    }

    fn preprocessed_next_row_columns(&self) -> Vec<usize> {
        if self.next { (0..self.preprocessed.0).collect() } else { vec![] }
    }
}

impl<AB: ExtensionBuilder> Air<AB> for AnyAir {
    fn eval(&self, builder: &mut AB) {
        for Constraint(first, second) in &self.constraints {
            let value = first.eval(builder);
            match second {
                None => builder.assert_zero(value),
                Some(second) => {
                    let second = AB::ExprEF::from(second.eval(builder));
                    let g = AB::ExprEF::from(AB::EF::GENERATOR);
                    builder.assert_zero_ext((g.clone() * value - second.clone()) * (g + second));
                }
            }
        }
    }
}

/// A table with random constraints and lookups, which need not balance. Its first column is 0 or 1.
#[derive(Clone)]
pub(crate) struct AnyTable {
    air: Arc<AnyAir>,
    /// Tuples of one lookup within the table, each with its multiplicity.
    local: Vec<(Vec<Expression>, Expression)>,
    /// Lookups of two buses, by the length of their tuples.
    global: Vec<(Vec<Expression>, Expression)>,
    /// Tuples of which the first column selects one.
    exclusive: Option<[(Vec<Expression>, Expression); 2]>,
}

impl AnyTable {
    /// Constraints and lookups of at most this degree, for traces of 2^log_n rows.
    pub(crate) fn random(random: &mut Random, degree: usize, log_n: usize) -> Self {
        let air = AnyAir::random(random, degree, log_n);
        // lookups read no periodic columns
        let of = AnyAir { periods: Vec::new(), constraints: Vec::new(), ..air };
        let tuple = |random: &mut Random, length: usize| {
            let mut expression = || Expression::random(random, &of, degree.min(2), 2);
            ((0..length).map(|_| expression()).collect::<Vec<_>>(), expression())
        };
        let length = 1 + random.below(3);
        let local = (0..random.below(3)).map(|_| tuple(random, length)).collect();
        let global = (0..random.below(4)).map(|i| tuple(random, [1, 3][i % 2])).collect();
        let exclusive = (random.below(2) > 0).then(|| [0; 2].map(|_| tuple(random, 3)));
        Self {
            air: Arc::new(AnyAir { periods: air.periods, constraints: air.constraints, ..of }),
            local,
            global,
            exclusive,
        }
    }

    pub(crate) fn publics(&self) -> usize {
        self.air.publics
    }
}

impl<F: Field> BaseAir<F> for AnyTable {
    fn width(&self) -> usize {
        self.air.width
    }

    fn num_public_values(&self) -> usize {
        self.air.publics
    }

    fn num_periodic_columns(&self) -> usize {
        self.air.periods.len()
    }

    fn periodic_columns(&self) -> Cow<'_, [Vec<F>]> {
        self.air.periodic_columns()
    }

    fn main_next_row_columns(&self) -> Vec<usize> {
        BaseAir::<F>::main_next_row_columns(&*self.air)
    }

    fn preprocessed_width(&self) -> usize {
        self.air.preprocessed.0
    }

    fn preprocessed_trace(&self) -> Option<RowMajorMatrix<F>> {
        self.air.preprocessed_trace()
    }

    fn preprocessed_next_row_columns(&self) -> Vec<usize> {
        BaseAir::<F>::preprocessed_next_row_columns(&*self.air)
    }
}

impl<AB: ExtensionBuilder<F: Field> + InteractionBuilder> Air<AB> for AnyTable {
    fn eval(&self, builder: &mut AB) {
        self.air.eval(builder);
        let tuple = |builder: &AB, (elements, count): &(Vec<Expression>, Expression)| {
            let elements: Vec<AB::Expr> = elements.iter().map(|x| x.eval(builder)).collect();
            (elements, Count::bounded(count.eval(builder), 1))
        };
        if !self.local.is_empty() {
            let tuples: Vec<_> = self.local.iter().map(|of| tuple(builder, of)).collect();
            builder.push_local_interaction(tuples);
        }
        for of in &self.global {
            let (elements, count) = tuple(builder, of);
            builder.push_interaction(if elements.len() == 1 { "short" } else { "long" }, elements, count);
        }
        if let Some(of) = &self.exclusive {
            let flag: AB::Expr = builder.main().current_slice()[0].into();
            let flags = [flag.clone(), AB::Expr::ONE - flag];
            let branches = of.iter().zip(flags).map(|(of, flag)| {
                let (elements, count) = tuple(builder, of);
                (flag, count, elements)
            });
            let branches: Vec<_> = branches.collect();
            builder.push_exclusive_interaction("long", branches);
        }
    }
}

/// Periodic columns with these logarithms of their periods.
fn columns_of<'a, F: PrimeCharacteristicRing>(periods: &[usize]) -> Cow<'a, [Vec<F>]> {
    let column = |(i, log): (usize, &usize)| (0..1 << log).map(|row| F::from_usize(7 * row + i)).collect();
    periods.iter().enumerate().map(column).collect()
}
